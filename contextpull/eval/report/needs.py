"""What a report needs beyond the package itself."""

from contextpull.errors import MissingExtra
from contextpull.eval.statistics import require_numpy


def require_report_libraries() -> None:
    """Raise `MissingExtra` where a library is absent; call it before importing what draws."""
    require_numpy()
    try:
        import jinja2  # noqa: F401 - only whether it is there
    except ImportError as error:
        raise MissingExtra("A report", "eval") from error
