"""What `contextpull doctor` says of a server, beside what hosts take."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from contextpull.server.hosting.probing import HostView

CAPS = (4_096, 2_048)
"""Characters at which hosts cut instructions and each tool's description: today's, and older ones.

Measured with Claude Code 2.1.332; read of 2.1.285.
"""
MOST_RESULT_CHARS = 50_000
MOST_RESULT_TOKENS = 25_000
"""Above one of these Claude Code 2.1.332 shows the model a preview, and the rest as a file."""
_CHARS_PER_TOKEN = 4
"""A rule of thumb; scripts without spaces take more tokens."""
_WAITS = (("Codex", 10), ("Claude Code", 30))
"""Seconds that hosts wait for a greeting unless told otherwise."""
_MOST_LINES = 3


def facts_of(view: HostView, startup_files: Sequence[str] = ()) -> dict[str, Any]:
    """The view as plain data, with `problems`: sentences of what is wrong, none if all is well."""
    chars = len(view.instructions)
    return {
        "command": list(view.command),
        "seconds": round(view.seconds, 2),
        "protocol": view.protocol,
        "server": view.server,
        "instructions": {
            "chars": chars,
            "cuts": [
                {"at": cap, "lost": chars - cap, "from": view.instructions[cap : cap + 30]}
                for cap in CAPS
                if chars > cap
            ],
        },
        "tools": [{"name": name, "chars": count} for name, count in view.tools],
        "tools_tokens": view.tools_chars // _CHARS_PER_TOKEN,
        "results": [{"call": call, "chars": count} for call, count in view.results],
        "resources": view.resources,
        "templates": view.templates,
        "prompts": view.prompts,
        "stray_output": list(view.stray),
        "stderr": view.stderr,
        "problems": problems_of(view, startup_files),
    }


def problems_of(view: HostView, startup_files: Sequence[str] = ()) -> list[str]:
    """What a host would stumble over, a sentence each, with what to try.

    `startup_files` are those that the interpreter runs before the server, where it has any.
    """
    found = [view.failure] if view.failure else []
    if view.stray:
        where = f" ({', '.join(startup_files)})" if startup_files else ""
        found.append(
            f"Standard output carries what is no message of the protocol, {view.stray[0]!r}, and"
            " hosts may end the connection for it. The server prints nothing there: look at what"
            f" Python runs when it starts, such as sitecustomize{where} and .pth files."
        )
    if len(view.instructions) > CAPS[0]:
        found.append(f"The instructions have more than {CAPS[0]:,} characters; hosts cut the rest.")
    found += [
        f"The description of the tool {name!r} has more than {CAPS[0]:,} characters; hosts cut it."
        for name, count in view.tools
        if count > CAPS[0]
    ]
    found += [
        f"The result of {call} has {count:,} characters, more than hosts show a model at once."
        for call, count in view.results
        if _is_cut(count)
    ]
    return found


def lines_of(facts: Mapping[str, Any]) -> list[str]:
    """The facts, to be read by a person."""
    lines = [f"host runs    {shlex.join(facts['command'])}"]
    if facts["protocol"]:
        lines += [
            f"greeting     {facts['server']}, protocol {facts['protocol']},"
            f" {facts['seconds']:.1f} s after the start{_impatient(facts['seconds'])}",
            f"instructions {_instructions(facts['instructions'])}",
        ]
    if facts["tools"]:
        tools = ", ".join(f"{tool['name']} {tool['chars']}" for tool in facts["tools"])
        lines.append(
            f"tools        {tools} characters of description (hosts cut at {CAPS[0]:,}); the whole"
            f" list takes about {facts['tools_tokens']:,} tokens"
        )
    if facts["results"]:
        results = ", ".join(f"{each['call']} {each['chars']:,}" for each in facts["results"])
        lines += [
            f"results      {results} characters (hosts cut at {MOST_RESULT_CHARS:,}, or at"
            f" {MOST_RESULT_TOKENS:,} tokens)",
            f"beside them  {facts['resources']:,} resources, {facts['templates']} templates,"
            f" {facts['prompts']} prompts",
        ]
    lines += [f"problem      {problem}" for problem in facts["problems"]]
    if facts["problems"] and facts["stderr"]:
        lines += [f"it said      {line}" for line in facts["stderr"].splitlines()[-_MOST_LINES:]]
    return lines


def _instructions(told: Mapping[str, Any]) -> str:
    cuts = [
        f"hosts that cut at {cut['at']:,} lose {cut['lost']:,}, from {cut['from']!r} on"
        for cut in told["cuts"]
    ]
    return "; ".join([f"{told['chars']:,} characters", *(cuts or ["no host cuts them"])])


def _impatient(seconds: float) -> str:
    late = [f"{host} ({limit} s)" for host, limit in _WAITS if seconds > limit]
    return f", too late for {' and '.join(late)} unless told to wait" if late else ""


def _is_cut(chars: int) -> bool:
    return chars > MOST_RESULT_CHARS or chars / _CHARS_PER_TOKEN > MOST_RESULT_TOKENS
