"""The tokens file: who may call over HTTP, what they may see, and until when.

One JSON object a line. A token: `name`, `sha256` (of the token, in hex), `scope` (globs, see
`Scope`), `expires` (an instant in UTC, or null). A scope of an identity provider: `oauth_scope`,
`scope`. Blank lines and lines that begin with `#` are passed over.

A token is 256 random bits, which nobody guesses: plain SHA-256 keeps it as well as a slow hash
would, and a wrong token costs the server a microsecond instead of a second.
"""

import hmac
import json
import re
import secrets
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Annotated

from filelock import FileLock, Timeout
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from contextpull.adapters.files import replacing
from contextpull.errors import ContextPullError, InvalidInput
from contextpull.retrieval.scope import Scope
from contextpull.server.telling import tell

PREFIX = "cpt_"
"""Begins every token, so that scanners for lost secrets know one."""
_MOST_BYTES = 4 * 1024 * 1024
_SPAN = re.compile(r"([1-9]\d{0,4})([hdw])")
_UNITS = {"h": "hours", "d": "days", "w": "weeks"}


class TokensUnusable(ContextPullError):
    """A tokens file that cannot be read, or holds a line that means nothing."""


@dataclass(frozen=True, slots=True)
class Token:
    """One line that admits somebody."""

    name: str
    digest: bytes
    scope: tuple[str, ...]
    expires: datetime | None

    @property
    def has_expired(self) -> bool:
        """Whether its time is over."""
        return self.expires is not None and self.expires <= datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Tokens:
    """What a tokens file says."""

    tokens: tuple[Token, ...] = ()
    oauth_scopes: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """What each scope of an identity provider lets see."""

    def find(self, token: str) -> Token | None:
        """The line of a token, also of one that has expired; all are compared, whichever is it."""
        digest = _digest(token)
        found = None
        for each in self.tokens:
            found = each if hmac.compare_digest(each.digest, digest) else found
        return found


class TokensFile:
    """A tokens file that may change while it is used; what cannot be used changes nothing."""

    def __init__(self, path: Path) -> None:
        """Read the file; raises TokensUnusable."""
        self.path = path
        self._seen = _signature(path)
        self._tokens = read_tokens(path)
        self.is_current = True
        """False while the file cannot be used, and what it said before still holds."""

    @property
    def tokens(self) -> Tokens:
        """What the file says now, or said last; a look at its status when it did not change."""
        signature = _signature(self.path)
        if signature != self._seen:
            self._seen = signature
            try:
                self._tokens = read_tokens(self.path)
                self.is_current = True
            except TokensUnusable as error:
                self.is_current = False
                tell(f"{error} What it said before still holds.")
            else:
                tell(f"{self.path} was read again: {len(self._tokens.tokens):,} tokens.")
        return self._tokens


def read_tokens(path: Path) -> Tokens:
    """What a tokens file says; raises TokensUnusable for the first line that means nothing."""
    tokens: list[Token] = []
    oauth: list[tuple[str, tuple[str, ...]]] = []
    for number, line in enumerate(_text(path).split("\n"), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            record = _record(line)
            if isinstance(record, Token):
                _check_new(record, tokens)
                tokens.append(record)
            else:
                oauth.append((record.oauth_scope, tuple(record.scope)))
        except InvalidInput as error:
            raise TokensUnusable(f"{path}, line {number}: {error} Correct or remove it.") from None
    return Tokens(tuple(tokens), tuple(oauth))


def permission_warning(path: Path) -> str:
    """What is wrong with who may touch the file, as a sentence; empty when nothing is."""
    mode = stat.S_IMODE(path.stat().st_mode)
    what = "change" if mode & 0o022 else "read" if mode & 0o044 else ""
    return f"Others may {what} {path} (mode {mode:03o}): chmod 600 {path}" if what else ""


def add_token(path: Path, name: str, scope: Sequence[str], expires: datetime | None) -> str:
    """A new token, whose line is added to the file, or to a new one; the token is kept nowhere.

    Raises InvalidInput for a name that is taken or no name, and a scope that is none,
    TokensUnusable for a file that is.
    """
    token = PREFIX + secrets.token_urlsafe(32)
    line = {
        "name": name,
        "sha256": _digest(token).hex(),
        "scope": list(scope),
        "expires": expires and expires.isoformat(),
    }
    text = json.dumps(line, ensure_ascii=False)
    record = _record(text)
    assert isinstance(record, Token)
    with _alone(path):
        lines: list[str] = []
        if path.exists():
            _check_new(record, read_tokens(path).tokens)
            lines = _text(path).rstrip("\n").split("\n")
        _write(path, [*lines, text])
    return token


def revoke_token(path: Path, name: str) -> None:
    """Take a token's line out of the file; one that was there while other lines are unusable, too.

    Raises InvalidInput when there is none of that name, TokensUnusable when there is no file.
    """
    with _alone(path):
        lines = _text(path).rstrip("\n").split("\n")
        kept = [line for line in lines if _name_of(line) != name]
        if len(kept) == len(lines):
            raise InvalidInput(f"{path} has no token {name!r}. contextpull tokens list shows them.")
        _write(path, kept)


def expiry(text: str, now: datetime) -> datetime | None:
    """The instant that `90d`, `12h`, `2w`, a date (its start, UTC) or `never` (None) means.

    Raises InvalidInput for anything else, and for a date that has passed.
    """
    if text == "never":
        return None
    if span := _SPAN.fullmatch(text):
        return (now + timedelta(**{_UNITS[span[2]]: int(span[1])})).replace(microsecond=0)
    try:
        day = datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        raise InvalidInput(
            f"{text!r} is no time. Write 90d, 12h, 2w, a date like 2027-01-31, or never."
        ) from None
    if day <= now:
        raise InvalidInput(f"{text} has passed. Write a date that is to come.")
    return day


class _Line(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    scope: Annotated[list[str], Field(min_length=1)]


class _TokenLine(_Line):
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.@-]{1,64}$")]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    expires: AwareDatetime | None


class _OAuthLine(_Line):
    oauth_scope: Annotated[str, Field(pattern=r"^[!#-\[\]-~]{1,200}$")]  # RFC 6749, 3.3


def _record(line: str) -> "Token | _OAuthLine":
    kind = _OAuthLine if '"oauth_scope"' in line else _TokenLine
    try:
        record = kind.model_validate_json(line)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        where = f"{fault['loc'][0]!r}: " if fault["loc"] else ""
        raise InvalidInput(f"{where}{fault['msg']}.") from None
    Scope(tuple(record.scope))
    if isinstance(record, _OAuthLine):
        if any(glob.startswith("!") for glob in record.scope):
            raise InvalidInput(
                "the scopes of an identity provider add up, and none may take out what another"
                " lets see: name what is to be seen."
            )
        return record
    assert isinstance(record, _TokenLine)
    digest = bytes.fromhex(record.sha256)
    return Token(record.name, digest, tuple(record.scope), record.expires)


def _check_new(record: Token, others: Sequence[Token]) -> None:
    for each in others:
        if each.name == record.name:
            raise InvalidInput(
                f"the name {each.name!r} is taken. Revoke that token first, or take another name."
            )
        if each.digest == record.digest:
            raise InvalidInput(f"the token is that of {each.name!r} already.")


def _name_of(line: str) -> object:
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record.get("name") if isinstance(record, dict) else None


def _digest(token: str) -> bytes:
    return sha256(token.encode("utf-8", "replace")).digest()


def _signature(path: Path) -> tuple[int, ...] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return (status.st_ino, status.st_mtime_ns, status.st_ctime_ns, status.st_size)


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            raise TokensUnusable(f"{path} is longer than {_MOST_BYTES:,} bytes: no tokens file.")
        return data.decode("utf-8-sig")
    except OSError as error:
        raise TokensUnusable(
            f"The tokens file {path} cannot be read: {error.strerror}."
            " contextpull tokens add makes one."
        ) from error
    except UnicodeDecodeError:
        raise TokensUnusable(f"{path} is not UTF-8 text: no tokens file.") from None


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Nobody else edits the file meanwhile: a token that was added must not be lost."""
    if not path.parent.is_dir():
        raise TokensUnusable(f"{path} cannot be written: there is no folder {path.parent}.")
    try:
        with FileLock(path.with_name(f".{path.name}.lock"), timeout=10):
            yield
    except Timeout:
        raise TokensUnusable(f"Somebody else is editing {path}. Try again.") from None
    except OSError as error:
        raise TokensUnusable(f"{path} cannot be written: {error.strerror}.") from error


def _write(path: Path, lines: list[str]) -> None:
    with replacing(path, mode=0o600) as stream:
        stream.write("".join(f"{line}\n" for line in lines))
