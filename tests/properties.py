"""Settings of the property tests: the same examples every time."""

from hypothesis import HealthCheck, settings


def same_every_time(examples: int) -> settings:
    """So many examples, none timed, none remembered."""
    return settings(
        derandomize=True,
        database=None,
        deadline=None,
        max_examples=examples,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )
