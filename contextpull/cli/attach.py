"""`contextpull tools` and `claude-md`: what other programs need to attach."""

import json

import click

from contextpull.cli.options import json_option


@click.command("tools")
@click.option(
    "--format",
    "shape",
    type=click.Choice(["text", "anthropic", "openai", "mcp"]),
    default="text",
    show_default=True,
    help="As text to read, or as JSON in the shape that an API takes.",
)
@json_option
def tools_command(shape: str, as_json: bool) -> None:
    """Print the four tools with their arguments.

    \b
    Examples:
      contextpull tools
      contextpull tools --format anthropic > tools.json
    """
    from contextpull.tools import TOOLS, anthropic_tools, mcp_tools, openai_tools

    if shape == "text" and not as_json:
        for tool in TOOLS:
            click.echo(f"{tool.name}: {tool.description}")
            for name, facts in tool.schema["properties"].items():
                needed = " (required)" if name in tool.schema.get("required", ()) else ""
                click.echo(f"  {name:<12}{facts.get('description', '')}{needed}".rstrip())
        return
    shapes = {"anthropic": anthropic_tools, "openai": openai_tools}
    click.echo(json.dumps(shapes.get(shape, mcp_tools)(), ensure_ascii=False, indent=2))


@click.command("claude-md")
@json_option
def claude_md_command(as_json: bool) -> None:
    """Print a paragraph for CLAUDE.md that tells Claude Code when to use the tools.

    \b
    Example:
      contextpull claude-md >> CLAUDE.md
    """
    from contextpull.tools import DISCIPLINE

    text = (
        "## Documents (contextpull)\n\n"
        "Use the contextpull tools for questions that the attached documents answer.\n"
        f"{DISCIPLINE}"
    )
    click.echo(json.dumps({"markdown": text}, ensure_ascii=False) if as_json else text)
