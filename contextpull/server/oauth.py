"""Tokens of an identity provider: JSON Web Tokens (RFC 9068) checked against its keys (RFC 7517).

The server is a resource server only: it issues nothing, and asks nobody but the address of the
keys, never one that a token names.
"""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
import jwt

from contextpull.errors import ContextPullError, InvalidInput
from contextpull.server.telling import tell

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA")
"""Signatures with a public key; none that takes a shared secret, and never `none`."""
_LEEWAY = 30
"""Seconds that clocks may differ."""
_LIFETIME = 300.0
"""Seconds after which the keys are fetched again."""
_LONGEST_STALE = 24 * 3600.0
"""Seconds that keys are used while no newer ones can be fetched."""
_COOLDOWN = 10.0
"""Seconds between fetches, whatever key a token names."""
_FETCH_SECONDS = 5.0
_MOST_BYTES = 256 * 1024
_LOOPBACK = {"127.0.0.1", "localhost", "::1"}


class KeysUnusable(ContextPullError):
    """Keys of an identity provider that cannot be fetched, or are none."""


class NotValid(Exception):
    """A token that admits nobody; the message says why, without the token."""


@dataclass(frozen=True, slots=True)
class OAuthSettings:
    """Whose tokens are taken, for whom they must be meant, and where the keys are."""

    issuer: str
    audience: str
    jwks: str
    """A file, or an address; http only on this machine."""
    claim: str = ""
    """The claim that holds globs, if any does."""


@dataclass(frozen=True, slots=True)
class Claims:
    """What a valid token says."""

    subject: str
    scopes: tuple[str, ...]
    globs: tuple[str, ...]
    """Of the claim that holds globs; empty without it."""
    expires: float


class JwtVerifier:
    """Checks tokens: signature, issuer, audience, times, and that there is a subject."""

    def __init__(
        self, settings: OAuthSettings, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Raises InvalidInput for settings that cannot be meant, KeysUnusable for a wrong file."""
        self.settings = settings
        self._keys = _Keys(settings.jwks, clock)

    async def verify(self, token: str) -> Claims:
        """What a token says; raises NotValid."""
        try:
            header = jwt.get_unverified_header(token)
        except (jwt.PyJWTError, RecursionError):
            raise NotValid("The token is no JSON Web Token.") from None
        if header.get("alg") not in ALGORITHMS:
            raise NotValid("The token is signed in a way that is not accepted here.")
        key = await self._keys.find(header.get("kid"))
        try:
            claims = jwt.decode(
                token,
                key,
                algorithms=list(ALGORITHMS),
                audience=self.settings.audience,
                issuer=self.settings.issuer,
                leeway=_LEEWAY,
                options={
                    "require": ["exp", "iss", "aud", "sub"],
                    "enforce_minimum_key_length": True,
                },
            )
        except jwt.ExpiredSignatureError:
            raise NotValid("The token has expired.") from None
        except jwt.PyJWTError as error:
            raise NotValid(f"The token is not valid: {error}.") from None
        globs = _texts(claims.get(self.settings.claim)) if self.settings.claim else ()
        scopes = (*_words(claims.get("scope")), *_words(claims.get("scp")))
        return Claims(claims["sub"], scopes, globs, float(claims["exp"]))


class _Keys:
    """The keys of a file or an address, fetched when they are old or a token names a new one."""

    def __init__(self, where: str, clock: Callable[[], float]) -> None:
        self._where = where
        self._clock = clock
        self._is_address = "://" in where
        self._keys: dict[str | None, jwt.PyJWK] = {}
        self._good_at = self._tried_at = -float("inf")
        self._lock = anyio.Lock()
        if self._is_address:
            _check_address(where)
        else:
            self._keys = _parsed(_file_bytes(Path(where)), where)
            self._good_at = clock()

    async def find(self, name: object) -> jwt.PyJWK:
        """The key with a name, or the only key for a token that names none."""
        await self._renew(lambda: self._age > _LIFETIME)
        key = self._named(name)
        if key is None:
            await self._renew(lambda: self._named(name) is None)
            key = self._named(name)
        if self._is_address and self._age > _LONGEST_STALE:
            raise NotValid("The keys of the identity provider cannot be fetched. Try again later.")
        if key is None:
            raise NotValid("The token is signed with a key that the identity provider has not.")
        return key

    @property
    def _age(self) -> float:
        return self._clock() - self._good_at

    def _named(self, name: object) -> jwt.PyJWK | None:
        if name is None:
            return next(iter(self._keys.values())) if len(self._keys) == 1 else None
        return self._keys.get(name) if isinstance(name, str) else None

    async def _renew(self, is_needed: Callable[[], bool]) -> None:
        """Get the keys if that is needed and was not tried a moment ago, one at a time."""
        async with self._lock:
            if not is_needed() or self._clock() - self._tried_at < _COOLDOWN:
                return
            self._tried_at = self._clock()
            try:
                data = await self._data()
                self._keys = _parsed(data, self._where)
                self._good_at = self._clock()
            except KeysUnusable as error:
                tell(str(error))

    async def _data(self) -> bytes:
        if self._is_address:
            return await _fetched(self._where)
        return await anyio.to_thread.run_sync(_file_bytes, Path(self._where))


async def _fetched(address: str) -> bytes:
    """The bytes at an address: no redirect, no proxy, nothing long, nothing slow."""
    import httpx2

    data = bytearray()
    try:
        with anyio.fail_after(_FETCH_SECONDS):
            async with (
                httpx2.AsyncClient(trust_env=False, follow_redirects=False) as client,
                client.stream("GET", address) as response,
            ):
                if response.status_code != 200:
                    raise KeysUnusable(f"{address} answered with status {response.status_code}.")
                async for piece in response.aiter_bytes():
                    data += piece
                    if len(data) > _MOST_BYTES:
                        raise KeysUnusable(f"{address} sends more than {_MOST_BYTES:,} bytes.")
    except TimeoutError:
        raise KeysUnusable(f"{address} did not answer within {_FETCH_SECONDS:g} s.") from None
    except httpx2.HTTPError as error:
        raise KeysUnusable(f"{address} cannot be asked for keys: {error}.") from None
    return bytes(data)


def _file_bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_MOST_BYTES)
    except OSError as error:
        raise KeysUnusable(
            f"The keys in {path} cannot be read: {error.strerror}. Name a file or an https address."
        ) from error


def _parsed(data: bytes, where: str) -> dict[str | None, jwt.PyJWK]:
    """The keys that may sign tokens, by name; those of other kinds are passed over."""
    try:
        records = json.loads(data)["keys"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise KeysUnusable(f"{where} holds no JSON Web Key Set.") from None
    keys: dict[str | None, jwt.PyJWK] = {}
    for record in records if isinstance(records, list) else []:
        try:
            key = jwt.PyJWK(record)
        except (jwt.PyJWTError, TypeError, AttributeError, ValueError):
            continue
        if key.algorithm_name in ALGORITHMS and key.public_key_use in {"sig", None}:
            keys[key.key_id] = key
    if not keys:
        raise KeysUnusable(f"{where} holds no key that signs tokens with {', '.join(ALGORITHMS)}.")
    return keys


def _check_address(address: str) -> None:
    parts = urlsplit(address)
    is_here = parts.scheme == "http" and parts.hostname in _LOOPBACK
    if not parts.hostname or not (parts.scheme == "https" or is_here):
        raise InvalidInput(
            f"{address!r} is no address for keys: whoever can change them on the way can make"
            " tokens. Name an https address, or a file."
        )


def _words(value: Any) -> tuple[str, ...]:
    return tuple(value.split()) if isinstance(value, str) else _texts(value)


def _texts(value: Any) -> tuple[str, ...]:
    values = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    return tuple(each for each in values if isinstance(each, str))
