"""JSON schemas of what the tools give to programs."""

from typing import Any

_TEXT = {"type": "string"}
_COUNT = {"type": "integer", "minimum": 0}
_FLAG = {"type": "boolean"}
_TEXTS = {"type": "array", "items": _TEXT}
_ID_OR_NONE = {"type": ["string", "null"]}
_ADDRESS = {
    "id": _TEXT,
    "path": _TEXT,
    "heading_path": _TEXT,
    "first_line": _COUNT,
    "last_line": _COUNT,
    "page": _COUNT,
    "last_page": _COUNT,
}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


def _array(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": _object(properties)}


OUTPUT_SCHEMAS: dict[str, dict[str, Any]] = {
    "search": _object(
        {
            "hits": _array(
                {
                    **_ADDRESS,
                    "score": {"type": "number"},
                    "snippet": _TEXT,
                    "copies": _TEXTS,
                    "has_phrases": _FLAG,
                }
            ),
            "offset": _COUNT,
            "has_more": _FLAG,
            "notes": _TEXTS,
        }
    ),
    "grep": _object(
        {
            "matches": _array(
                {
                    **_ADDRESS,
                    "lines": _array({"number": _COUNT, "text": _TEXT, "is_match": _FLAG}),
                }
            ),
            "offset": _COUNT,
            "total": _COUNT,
            "total_is_exact": _FLAG,
            "documents": _COUNT,
            "notes": _TEXTS,
        }
    ),
    "read": _object(
        {
            "sections": _array(
                {
                    **_ADDRESS,
                    "text": _TEXT,
                    "repeated_header": _TEXT,
                    "previous": _ID_OR_NONE,
                    "next": _ID_OR_NONE,
                    "is_context": _FLAG,
                }
            ),
            "next_offset": {"type": ["integer", "null"]},
        }
    ),
    "index": _object(
        {
            "heading": _TEXT,
            "lines": _TEXTS,
            "next_offset": {"type": ["integer", "null"]},
            "remaining": _COUNT,
        }
    ),
}
"""By tool name."""
