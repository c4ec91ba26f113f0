"""`contextpull tokens`, and the file that it keeps."""

import json
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from contextpull.cli.main import cli
from contextpull.errors import InvalidInput
from contextpull.server.tokens import (
    TokensUnusable,
    add_token,
    expiry,
    permission_warning,
    read_tokens,
    revoke_token,
)

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
HASH = "0" * 64


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "tokens.jsonl"


def tokens(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["tokens", *arguments])


def test_a_token_is_printed_once_and_only_its_hash_is_kept(file: Path) -> None:
    done = tokens("add", "alice", "--scope", "hr/**", "--scope", "!hr/pay/**", "--file", str(file))
    assert done.exit_code == 0
    token = done.stdout.strip()
    assert token.startswith("cpt_")
    assert len(token) >= 43
    assert token not in file.read_text()
    found = read_tokens(file).find(token)
    assert found is not None
    assert (found.name, found.scope) == ("alice", ("hr/**", "!hr/pay/**"))
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_token_holds_ninety_days_unless_told_otherwise(file: Path) -> None:
    tokens("add", "a", "--scope", "**", "--file", str(file))
    tokens("add", "b", "--scope", "**", "--expires", "never", "--file", str(file))
    first, second = read_tokens(file).tokens
    assert first.expires is not None
    assert timedelta(days=89) < first.expires - datetime.now(UTC) <= timedelta(days=90)
    assert second.expires is None


def test_the_list_shows_everything_but_the_tokens(file: Path) -> None:
    token = add_token(file, "alice", ["hr/**"], NOW - timedelta(days=400))
    with file.open("a") as stream:
        stream.write('\n# from the provider\n{"oauth_scope": "docs:eng", "scope": ["eng/**"]}\n')
    shown = tokens("list", "--file", str(file))
    assert "alice  hr/**  expires 2025-10-26 12:00  (has expired)" in shown.stdout
    assert "oauth scope docs:eng  eng/**" in shown.stdout
    assert token not in shown.output
    (row,) = json.loads(tokens("list", "--json", "--file", str(file)).stdout)
    assert row["name"] == "alice"
    assert row["has_expired"]


def test_a_revoked_token_is_gone_and_the_rest_stays(file: Path) -> None:
    add_token(file, "alice", ["**"], None)
    kept = add_token(file, "bob", ["**"], None)
    with file.open("a") as stream:
        stream.write("# a remark\n")
    assert tokens("revoke", "alice", "--file", str(file)).exit_code == 0
    assert [each.name for each in read_tokens(file).tokens] == ["bob"]
    assert read_tokens(file).find(kept)
    assert "# a remark" in file.read_text()
    again = tokens("revoke", "alice", "--file", str(file))
    assert again.exit_code == 2
    assert "no token 'alice'" in again.output


def test_a_token_is_revoked_also_beside_a_line_that_means_nothing(file: Path) -> None:
    add_token(file, "alice", ["**"], None)
    with file.open("a") as stream:
        stream.write("{nonsense\n")
    revoke_token(file, "alice")
    assert file.read_text() == "{nonsense\n"


def test_a_name_is_given_once(file: Path) -> None:
    add_token(file, "alice", ["**"], None)
    again = tokens("add", "alice", "--scope", "**", "--file", str(file))
    assert again.exit_code == 2
    assert "'alice' is taken" in again.output


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["a b", "--scope", "**"], "'name'"),
        (["", "--scope", "**"], "'name'"),
        (["oauth:alice", "--scope", "**"], "'name'"),
        (["alice"], "--scope"),
        (["alice", "--scope", ""], "names nothing"),
        (["alice", "--scope", "../hr"], ".."),
        (["alice", "--scope", "**", "--expires", "soon"], "90d"),
        (["alice", "--scope", "**", "--expires", "0d"], "90d"),
        (["alice", "--scope", "**", "--expires", "2020-01-01"], "has passed"),
    ],
)
def test_what_makes_no_token_is_told(file: Path, arguments: list[str], told: str) -> None:
    done = tokens("add", *arguments, "--file", str(file))
    assert done.exit_code == 2
    assert told in done.output
    assert not file.exists()


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("{", "JSON"),
        ("[]", "object"),
        ('{"name": "a"}', "'scope'"),
        (f'{{"name": "a", "sha256": "{HASH}", "scope": [], "expires": null}}', "'scope'"),
        (f'{{"name": "a", "sha256": "{HASH}", "scope": "**", "expires": null}}', "'scope'"),
        (f'{{"name": "a", "sha256": "{HASH}", "scope": [""], "expires": null}}', "names nothing"),
        ('{"name": "a", "sha256": "00", "scope": ["**"], "expires": null}', "'sha256'"),
        (f'{{"name": "a", "sha256": "{HASH}", "scope": ["**"]}}', "'expires'"),
        (
            f'{{"name": "a", "sha256": "{HASH}", "scope": ["**"], "expires": "2027-01-01T00:00"}}',
            "'expires'",
        ),
        (f'{{"name": "a", "sha256": "{HASH}", "scope": ["**"], "expires": null, "x": 1}}', "'x'"),
        ('{"oauth_scope": "a b", "scope": ["**"]}', "'oauth_scope'"),
        ('{"oauth_scope": "a", "scope": ["**", "!hr/**"]}', "none may take out"),
    ],
)
def test_a_line_that_means_nothing_is_told_with_its_number(
    file: Path, line: str, told: str
) -> None:
    file.write_text(f"# tokens\n\n{line}\n")
    with pytest.raises(TokensUnusable, match="line 3") as caught:
        read_tokens(file)
    assert told in str(caught.value)


def test_two_lines_with_one_name_or_one_token_are_told(file: Path) -> None:
    add_token(file, "alice", ["**"], None)
    line = file.read_text()
    file.write_text(line + line)
    with pytest.raises(TokensUnusable, match=r"line 2.*'alice' is taken"):
        read_tokens(file)
    file.write_text(line + line.replace("alice", "bob"))
    with pytest.raises(TokensUnusable, match=r"line 2.*that of 'alice'"):
        read_tokens(file)


@pytest.mark.parametrize("data", [b"\xff\xfe\x00", b"#" * (4 * 1024 * 1024 + 1)])
def test_a_file_that_is_no_tokens_file_is_told(file: Path, data: bytes) -> None:
    file.write_bytes(data)
    with pytest.raises(TokensUnusable, match="no tokens file"):
        read_tokens(file)


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(TokensUnusable, match="cannot be written"):
        add_token(tmp_path / "missing" / "tokens.jsonl", "alice", ["**"], None)


@pytest.mark.parametrize(
    ("mode", "told"), [(0o600, ""), (0o640, "read"), (0o604, "read"), (0o660, "change")]
)
def test_who_else_may_touch_the_file_is_told(file: Path, mode: int, told: str) -> None:
    add_token(file, "alice", ["**"], None)
    file.chmod(mode)
    warning = permission_warning(file)
    assert bool(warning) == bool(told)
    assert told in warning


@given(st.text(max_size=80))
def test_no_other_text_is_a_token(text: str) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "tokens.jsonl")
        token = add_token(file, "alice", ["**"], None)
        read = read_tokens(file)
        assert read.find(text) is None
        assert read.find(token[:-1]) is None
        assert read.find(token) is not None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("12h", NOW + timedelta(hours=12)),
        ("2w", NOW + timedelta(weeks=2)),
        ("2027-01-31", datetime(2027, 1, 31, tzinfo=UTC)),
        ("never", None),
    ],
)
def test_times_are_written_as_spans_or_dates(text: str, expected: datetime | None) -> None:
    assert expiry(text, NOW) == expected


@pytest.mark.parametrize("text", ["", "90", "d", "-1d", "1y", "999999d", "2027-13-01", "١d"])
def test_what_is_no_time_is_told(text: str) -> None:
    with pytest.raises(InvalidInput, match="is no time"):
        expiry(text, NOW)
