"""Source code as text: one block of code, split between paragraphs and lines."""

from contextpull.documents.slicing import one_block
from contextpull.types import ParsedDocument

SUFFIXES = (
    *(".py", ".pyi", ".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".vue"),
    *(".svelte", ".go", ".rs", ".java", ".kt", ".kts", ".scala", ".groovy", ".gradle", ".clj"),
    *(".c", ".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx", ".cs", ".fs", ".vb", ".swift"),
    *(".m", ".mm", ".rb", ".php", ".pl", ".pm", ".lua", ".r", ".jl", ".dart", ".ex", ".exs"),
    *(".erl", ".hrl", ".hs", ".ml", ".mli", ".elm", ".nim", ".zig", ".sol", ".f90", ".pas"),
    *(".asm", ".s", ".el", ".lisp", ".scm", ".rkt", ".sh", ".bash", ".zsh", ".fish", ".ps1"),
    *(".psm1", ".bat", ".cmd", ".awk", ".sql", ".graphql", ".gql", ".proto", ".thrift", ".tf"),
    *(".hcl", ".nix", ".bzl", ".cmake", ".mk", ".dockerfile", ".css", ".scss", ".sass", ".less"),
    *(".ini", ".cfg", ".conf", ".properties", ".env", ".diff", ".patch"),
)


def read_source_code(data: bytes) -> ParsedDocument:
    """Read a program or a configuration as one block of code; it has no headings.

    Raises DocumentError for what is no text, such as a `.ts` that holds video.
    """
    return one_block(data, "code")
