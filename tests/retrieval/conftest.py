"""The endpoint of the models' tests."""

from tests.models.conftest import endpoint

__all__ = ["endpoint"]
