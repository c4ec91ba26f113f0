"""CSV, JSON, YAML, TOML and source code: sliced from the source, split between records."""

import json

import pytest

from contextpull.documents.formats import reader_of
from contextpull.errors import DocumentError
from contextpull.sections.cutting import cut
from contextpull.types import Section
from tests.documents.reading import outline, read


def headings(name: str, text: str) -> list[tuple[int, str]]:
    return outline(read(name, text))


def parts(name: str, text: str) -> list[Section]:
    sections = cut(read(name, text))
    assert "".join(section.text for section in sections) == text
    return sections


@pytest.mark.parametrize(("name", "mark"), [("a.csv", ","), ("a.csv", ";"), ("a.tsv", "\t")])
def test_each_part_of_a_table_of_records_repeats_its_header(name: str, mark: str) -> None:
    header = mark.join(["id", "name"])
    text = header + "\n" + "".join(f"{n}{mark}name {n}\n" for n in range(500))
    first, *others = parts(name, text)
    assert first.text.startswith(header)
    assert len(others) > 2
    assert {part.repeated_header for part in others} == {header}
    assert all(part.text.endswith("\n") for part in others)


def test_a_record_with_line_ends_in_quotes_stays_whole() -> None:
    record = '"two\nlines, and a ""quote""",x\n'
    for part in parts("a.csv", "a,b\n" + record * 300):
        assert part.text.removeprefix("a,b\n").count(record) * len(record) + 4 >= len(part.text)


def test_a_quote_that_never_ends_costs_one_record() -> None:
    text = 'a,b\n"open,1\n' + "x,2\n" * 30_000
    assert max(len(part.text) for part in parts("a.csv", text)) <= 2_040


def test_the_title_of_a_sheet_belongs_to_the_header() -> None:
    (block,) = read("a.tsv", "Cups\t\nTeam\tWins\nA\t1\n").blocks
    assert block.header == "Cups\t\nTeam\tWins"


def test_keys_that_hold_more_are_headings() -> None:
    text = json.dumps({"name": "x", "paths": {"/users": {"get": {"a": 1}}}, "v": 2}, indent=2)
    assert headings("a.json", text) == [(1, "paths"), (2, "/users"), (3, "get"), (1, "v")]
    yaml = "name: é\npaths:\n  # all users\n  /users:\n    get: {a: 1}\nv: 2\n"
    assert headings("a.yaml", yaml) == [(1, "paths"), (2, "/users"), (1, "v")]


def test_tables_of_toml_are_headings_under_their_full_name() -> None:
    text = 'x = 1\n[tool.uv]\na = [\n  ["no"]\n]\nb = """\n[no]\n"""\n# c\n[[tool.index]]\nn = 1\n'
    assert headings("a.toml", text) == [(1, "tool.uv"), (1, "tool.index")]


def test_records_in_an_array_are_never_cut_when_they_are_short() -> None:
    records = [
        {"id": number, "text": f"record {number}. It has two sentences."} for number in range(400)
    ]
    for part in parts("a.json", json.dumps(records)):
        assert part.text.rstrip("], ").endswith("}")
    lines = "".join(json.dumps(record) + "\n" for record in records)
    assert all(part.text.endswith("}\n") for part in parts("a.jsonl", lines))
    items = "".join(f"- id: {n}\n  text: record {n}. Two sentences.\n" for n in range(400))
    assert all(part.text.startswith("- id") for part in parts("a.yaml", items))


def test_comments_and_brackets_in_strings_are_no_structure() -> None:
    text = '{"a": {"b": "}{", // "c": {\n "d": 1 /* { */}}'
    document = read("a.jsonc", text)
    assert not document.warnings
    assert headings("a.jsonc", text) == [(1, "a")]


@pytest.mark.parametrize(
    ("name", "text", "warning"),
    [
        ("a.json", '{"a": [1, 2}', "not valid JSON"),
        ("a.yaml", "a: {{ x }}\nb: [", "not valid YAML"),
    ],
)
def test_what_is_not_valid_is_read_with_a_warning(name: str, text: str, warning: str) -> None:
    document = read(name, text)
    assert document.text.decode() == text
    assert warning in document.warnings[0]
    assert cut(document)


def test_yaml_aliases_are_not_followed() -> None:
    text = "a: &a [x, x]\n" + "".join(
        f"{b}: &{b} [*{a}, *{a}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
    )
    assert read("a.yaml", text).text.decode() == text


@pytest.mark.parametrize("name", ["a.json", "a.yaml", "a.toml", "a.csv", "a.jsonl", "a.py"])
@pytest.mark.parametrize("text", ["x" * 5_000_000, "[" * 200_000, '{"a":' * 200_000, '"' * 500_000])
def test_hostile_data_is_read_and_cut(name: str, text: str) -> None:
    assert "".join(section.text for section in cut(read(name, text))) == text


@pytest.mark.parametrize("suffix", ["py", "ts", "go", "rs", "java", "sql", "sh", "CPP", "cfg"])
def test_source_code_is_one_block_of_code(suffix: str) -> None:
    text = "# not a heading\ndef f():\n    return 1\n"
    (block,) = read(f"a.{suffix}", text).blocks
    assert (block.kind, block.start, block.end) == ("code", 0, len(text))


def test_video_that_is_called_ts_is_no_source_code() -> None:
    with pytest.raises(DocumentError, match="binary data"):
        reader_of("a.ts")(bytes([0x47, 0x40, 0, 16, 0, 0, 1]) * 200)
