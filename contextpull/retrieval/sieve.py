"""What every match of a pattern holds, where the engine finds that faster than the pattern."""

import re
from typing import Any

import re2

_TELLING = 3
"""Characters; less than this stands everywhere."""

_SLOW_TO_FOLD = re.compile(r"[sSkK]|[^\x00-\x7f]")
"""These have other cases outside ASCII (ſ, K): the engine compares texts without them at once."""

_PART = re.compile(
    r"""(?xs)
    (?P<plain>[^\\.+*?()\[\]{}|^$\n])
    | \\(?P<escaped>[!-/:-@\[-`{-~])
    | (?P<repeat>[+*?] | \{\d+(?:,\d*)?\})
    | (?P<open>\((?: \?: | \?P?<\w+> | (?!\?) ))
    | (?P<close>\))
    | (?P<choice>\|)
    | (?P<varied>[.^$] | \\[bBdDsSwWt] | \\[pP](?: \w | \{[^}]*\} )
        | \[\^?\]?(?: \[:\^?\w+:\] | \\. | [^\]\\] )*\])
    | (?P<unknown>.)
    """
)
"""The parts of an expression. Flags, anchors of the whole text and rare escapes are unknown."""


def sieve_of(pattern: str, *, regex: bool, case_sensitive: bool) -> Any:
    """An expression that matches within every match of the pattern and is found much faster.

    None where there is none, or the engine itself looks for it first.
    """
    if regex and pattern.startswith("(?i)"):
        pattern, case_sensitive = pattern.removeprefix("(?i)"), False
    runs = required_texts(pattern) if regex else [pattern]
    if not case_sensitive:
        runs = [piece for run in runs for piece in _SLOW_TO_FOLD.split(run)]
    longest = max(runs, key=len, default="")
    if len(longest) < _TELLING or pattern.startswith(longest):
        return None
    options = re2.Options()
    options.never_capture = True
    options.case_sensitive = case_sensitive
    return re2.compile(re2.escape(longest), options)


def required_texts(expression: str) -> list[str]:
    """Plain texts that every match of a valid expression holds; empty when in doubt.

    What stands in groups is not looked at.
    """
    runs = [""]
    depth = 0
    for part in _PART.finditer(expression):
        kind = part.lastgroup
        if kind == "unknown" or (kind == "choice" and not depth):
            return []
        depth += (kind == "open") - (kind == "close")
        if kind in {"plain", "escaped"} and not depth:
            runs[-1] += part[kind]
            continue
        if kind == "repeat" and part[0] != "+":
            runs[-1] = runs[-1][:-1]  # it may be absent
        runs.append("")
    return [run for run in runs if run]
