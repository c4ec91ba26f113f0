"""`contextpull ingest --read-as`: files that are another format than their names say."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from contextpull import open_store
from contextpull.cli.main import cli
from tests.conftest import write_corpus

RST = (
    "Cache\n=====\n\nWhat it holds is kept from one run to the next.\n\n"
    "Clearing\n--------\n\nRun the command, then wait until it is done.\n"
)


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    return write_corpus(tmp_path / "docs", {"cache.txt": RST, "notes/plain.txt": RST})


def ingest(docs: Path, *options: str) -> Result:
    store = docs.parent / "store"
    return CliRunner().invoke(cli, ["ingest", str(docs), "--store", str(store), *options])


def headings(docs: Path) -> dict[str, list[str]]:
    """The heading paths of each document in the store."""
    snapshot = open_store(docs.parent / "store").snapshot()
    return {
        path: [each.heading_path for each in snapshot.database.sections_of(document)]
        for path, document in snapshot.documents.items()
    }


def report(docs: Path, *options: str) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(ingest(docs, "--json", *options).stdout)
    return values


AS_RST = ["Cache", "Cache > Clearing"]


def test_files_are_read_as_the_format_that_is_asked_for(docs: Path) -> None:
    assert report(docs)["sections"] == 2
    again = report(docs, "--read-as", "*.txt=rst")
    assert (again["changed"], again["sections"]) == (2, 4)
    assert headings(docs) == {"cache.txt": AS_RST, "notes/plain.txt": AS_RST}


def test_later_ingests_keep_it_until_names_are_to_count_again(docs: Path) -> None:
    report(docs, "--read-as", "*.txt=rst")
    assert report(docs)["unchanged"] == 2
    write_corpus(docs, {"new.txt": RST})
    report(docs, "--min-chars", "0")
    assert headings(docs)["new.txt"] == AS_RST
    assert report(docs, "--read-as", "")["sections"] == 3


def test_of_several_rules_the_last_that_matches_counts(docs: Path) -> None:
    report(docs, "--read-as", "*.txt=.RST", "--read-as", "notes/*=plain text")
    assert headings(docs) == {"cache.txt": AS_RST, "notes/plain.txt": [""]}


def test_a_store_that_never_heard_of_it_is_not_cut_anew(docs: Path) -> None:
    report(docs)
    store = open_store(docs.parent / "store").snapshot().database
    assert "read_as" not in store.settings
    assert report(docs, "--read-as", "")["unchanged"] == 2


def test_files_of_a_suffix_that_no_reader_knows_are_read_where_a_rule_says_how(docs: Path) -> None:
    write_corpus(docs, {"run.book": RST, "LICENCE": "Some words, more or less.\n", "x.bin": RST})
    rules = ("--read-as", "*.book=rst", "--read-as", "LICENCE=text")
    first = report(docs, *rules)
    assert (first["added"], [each["path"] for each in first["skipped"]]) == (4, ["x.bin"])
    assert headings(docs)["run.book"] == AS_RST
    write_corpus(docs, {"run.book": f"{RST}\nMore of it.\n", "new.book": RST})
    again = report(docs)
    assert (again["added"], again["changed"], again["unchanged"]) == (1, 1, 3)
    report(docs, "--read-as", "")
    assert "run.book" not in headings(docs)


def test_a_rule_with_a_folder_names_paths_with_the_corpus(docs: Path) -> None:
    write_corpus(docs, {"notes/run.book": RST, "run.book": RST})
    report(docs, "--as", "hr", "--read-as", "hr/notes/*.book=rst")
    assert headings(docs)["hr/notes/run.book"] == AS_RST
    assert "hr/run.book" not in headings(docs)
    write_corpus(docs, {"notes/new.book": RST})
    done = CliRunner().invoke(cli, ["ingest", "--store", str(docs.parent / "store")])
    assert "1 added" in done.stdout


@pytest.mark.parametrize("rule", ["*.txt", "*.txt=", "=rst", "*.txt=word", "*.txt=rst,x", "="])
def test_a_rule_that_makes_no_sense_is_refused_with_a_right_one(docs: Path, rule: str) -> None:
    done = ingest(docs, "--read-as", rule)
    assert done.exit_code
    assert f"{rule.rpartition(',')[2]!r} does not say how to read which files" in done.stderr
    assert "'*.txt=rst'" in done.stderr
    assert not (docs.parent / "store").exists()
