"""What a line of a golden file may hold: one model, and the JSON Schema that is published of it."""

import re
from pathlib import Path
from typing import Annotated, Any
from unicodedata import is_normalized

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from contextpull.adapters.lines import first_repeated

SCHEMA_FILE = Path(__file__).with_name("golden.schema.json")
"""The published schema, as `golden_schema` gives it."""

BLANK_QUESTION = "blank_question"
"""The kind of fault that a row has whose question is blank without reason."""

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")
_PAGE_SLUG = re.compile(r"page=([1-9][0-9]{0,8})(?:~[0-9]+)?")
_NOT_BLANK = {"pattern": r"\S"}
_TRIMMED = {"pattern": r"^\S(.*\S)?$"}
_ENTRY = {
    **_TRIMMED,
    "not": {"pattern": "#page=(?![1-9][0-9]{0,8}(~[0-9]+)?$)[^#]*$"},
    "examples": ["guide/cache.md", "guide/cache.md#clear", "report.pdf#page=41"],
}


def page_of(entry: str) -> int | None:
    """The page that an entry of `expected` names, from 1; None where it names none."""
    found = _PAGE_SLUG.fullmatch(entry.rpartition("#")[2]) if "#" in entry else None
    return int(found[1]) if found else None


def _whole(text: str) -> str:
    if _HALF_CHARACTER.search(text):
        raise ValueError("holds half of a surrogate pair, which is no character")
    return text


def _composed(text: str) -> str:
    _whole(text)
    if not is_normalized("NFC", text):
        raise ValueError("is not in the normal form NFC; write composed characters")
    return text


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be blank")
    return text


def _trimmed(text: str) -> str:
    _not_blank(text)
    if text != text.strip():
        raise ValueError("has white space around it")
    if _CONTROLS.search(text):
        raise ValueError("holds a line break or another control character")
    return text


def _label(text: str) -> str:
    return _trimmed(text) if text else text


def _entry(text: str) -> str:
    _trimmed(_whole(text))
    if text.rpartition("#")[2].startswith("page=") and "#" in text and page_of(text) is None:
        raise ValueError("names no page; pages are whole numbers from 1: report.pdf#page=41")
    return text


def _distinct(texts: list[str]) -> list[str]:
    repeated = first_repeated(texts)
    if repeated is not None:
        raise ValueError(f"names {repeated!r} more than once")
    return texts


_Text = Annotated[str, AfterValidator(_composed)]
_Id = Annotated[_Text, AfterValidator(_trimmed), Field(json_schema_extra={**_TRIMMED})]
_Shape = Annotated[_Text, AfterValidator(_label)]
_Entry = Annotated[str, AfterValidator(_entry), Field(json_schema_extra={**_ENTRY})]
_Quote = Annotated[_Text, AfterValidator(_not_blank), Field(json_schema_extra={**_NOT_BLANK})]
_Distinct = AfterValidator(_distinct)


def _to_publish(schema: dict[str, Any]) -> None:
    """What the types alone do not say."""
    del schema["properties"]["id"]["default"]  # the line's number gives it
    blank = {"properties": {"question": {"pattern": r"^\s*$"}}}
    schema["if"] = blank
    schema["then"] = {"required": ["hint"], "properties": {"hint": _NOT_BLANK}}


class GoldenRow(BaseModel):
    """One line of a golden file: a question, and what of the documents answers it."""

    model_config = ConfigDict(
        strict=True, frozen=True, extra="forbid", json_schema_extra=_to_publish
    )

    id: _Id = Field(
        default="",
        description="Unique in the file; q and the number of the line where it is left out.",
    )
    question: _Text = Field(
        description="As people ask it. Blank in a template row that waits for one; its hint says"
        " what to ask about."
    )
    expected: Annotated[list[_Entry], _Distinct] = Field(
        json_schema_extra={"uniqueItems": True},
        description="What answers it: paths of documents, sections path#slug, pages"
        " report.pdf#page=41, as the store writes them. Empty while nobody has said.",
    )
    reference: _Text = Field(default="", description="An answer that a person would accept.")
    evidence: Annotated[list[_Quote], _Distinct] = Field(
        default=[],
        json_schema_extra={"uniqueItems": True},
        description="The words that answer it, exactly as they stand in what is expected.",
    )
    hint: _Text = Field(default="", description="A note for whoever checks the row.")
    draft: bool = Field(default=False, description="True until a person has checked the row.")
    shape: _Shape = Field(default="", description="A kind of question, to score kinds apart.")

    @model_validator(mode="after")
    def _is_asked(self) -> "GoldenRow":
        if not self.question.strip() and not self.hint.strip():
            raise PydanticCustomError(BLANK_QUESTION, "must not be blank where no hint says why")
        return self


FIELDS = tuple(GoldenRow.model_fields)


def golden_schema() -> dict[str, Any]:
    """The JSON Schema of a line, draft 2020-12."""
    return {"$schema": _DIALECT, "title": "Golden question", **_untitled(GoldenRow)}


def _untitled(model: type[BaseModel]) -> dict[str, Any]:
    schema = model.model_json_schema()
    del schema["title"]
    for part in schema["properties"].values():
        del part["title"]
    return schema
