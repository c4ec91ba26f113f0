"""The agent libraries, where they are installed."""

from typing import Any

import pytest

from tests.adapters.libraries import ELSEWHERE, LIBRARIES


@pytest.fixture(params=LIBRARIES, ids=lambda library: library.__name__)
def library(request: pytest.FixtureRequest) -> Any:
    pytest.importorskip(request.param.needs, reason=ELSEWHERE)
    return request.param()
