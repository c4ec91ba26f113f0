"""Tokens of an identity provider, with keys made here and served on this machine."""

import base64
import hmac
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from time import time
from typing import Any

import anyio
import httpx2
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from contextpull.errors import InvalidInput
from contextpull.server.auth import Door
from contextpull.server.limits import Refused
from contextpull.server.oauth import JwtVerifier, KeysUnusable, NotValid, OAuthSettings
from contextpull.server.tokens import TokensFile
from contextpull.store.ingest import ingest
from tests.server.http_servers import call, request, serving

ISSUER = "https://id.example"
AUDIENCE = "https://docs.example/mcp"
RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)
OTHER_RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)
EC = ec.generate_private_key(ec.SECP256R1())
ED = ed25519.Ed25519PrivateKey.generate()


def public(key: Any, name: str | None, algorithm: str) -> dict[str, Any]:
    """A key as a provider publishes it."""
    kind = jwt.get_algorithm_by_name(algorithm)
    record = dict(kind.to_jwk(key.public_key(), as_dict=True))
    named = {"kid": name} if name else {}
    return {**record, **named, "alg": algorithm, "use": "sig"}


def key_set(*keys: dict[str, Any]) -> bytes:
    return json.dumps({"keys": list(keys)}).encode()


def token(key: Any = RSA, name: str | None = "one", algorithm: str = "RS256", **claims: Any) -> str:
    """A token that is right but for the claims given; a claim that is None is left out."""
    now = int(time())
    every = {"iss": ISSUER, "aud": AUDIENCE, "sub": "alice", "iat": now, "exp": now + 600}
    kept = {name: value for name, value in {**every, **claims}.items() if value is not None}
    return jwt.encode(kept, key, algorithm=algorithm, headers={"kid": name} if name else {})


@dataclass
class Provider:
    """What a provider answers when it is asked for its keys."""

    url: str = ""
    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    asked: int = 0


@pytest.fixture
def provider() -> Iterator[Provider]:
    state = Provider(body=key_set(public(RSA, "one", "RS256")))

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            state.asked += 1
            self.send_response(state.status)
            for name, value in state.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(state.body)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        state.url = f"http://127.0.0.1:{server.server_address[1]}/keys"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield state
        server.shutdown()


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def verifier(jwks: str, clock: Clock | None = None) -> JwtVerifier:
    return JwtVerifier(OAuthSettings(ISSUER, AUDIENCE, jwks, "docs"), clock or Clock())


def subject(checker: JwtVerifier, text: str) -> str:
    return anyio.run(checker.verify, text).subject


def test_a_token_that_is_right_says_who_and_what(provider: Provider) -> None:
    claims = anyio.run(verifier(provider.url).verify, token(scope="a b", docs=["hr/**"]))
    assert (claims.subject, claims.scopes, claims.globs) == ("alice", ("a", "b"), ("hr/**",))


@pytest.mark.parametrize(
    ("key", "algorithm"), [(RSA, "RS256"), (RSA, "PS256"), (EC, "ES256"), (ED, "EdDSA")]
)
def test_signatures_with_public_keys_are_taken(
    provider: Provider, key: Any, algorithm: str
) -> None:
    provider.body = key_set(public(key, "k", algorithm))
    assert subject(verifier(provider.url), token(key, "k", algorithm)) == "alice"


@pytest.mark.parametrize(
    "claims",
    [
        {"iss": "https://evil.example"},
        {"iss": None},
        {"aud": "https://other.example/mcp"},
        {"aud": None},
        {"aud": []},
        {"exp": int(time()) - 60},
        {"exp": None},
        {"exp": "soon"},
        {"nbf": int(time()) + 86_400},
        {"iat": int(time()) + 86_400},
        {"sub": None},
        {"sub": 7},
    ],
)
def test_a_token_with_a_wrong_claim_is_refused(provider: Provider, claims: dict[str, Any]) -> None:
    try:
        wrong = token(**claims)
    except TypeError:  # the library refuses to make it: made by hand
        wrong = unchecked(claims)
    with pytest.raises(NotValid):
        subject(verifier(provider.url), wrong)


def encoded(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")


def unchecked(claims: dict[str, Any]) -> str:
    now = int(time())
    every = {"iss": ISSUER, "aud": AUDIENCE, "sub": "alice", "exp": now + 600, **claims}
    body = json.dumps(every).encode()
    return jwt.api_jws.encode(body, RSA, algorithm="RS256", headers={"kid": "one"})


def test_clocks_may_differ_a_little(provider: Provider) -> None:
    assert subject(verifier(provider.url), token(exp=int(time()) - 5)) == "alice"


def test_a_token_signed_by_somebody_else_is_refused(provider: Provider) -> None:
    with pytest.raises(NotValid):
        subject(verifier(provider.url), token(OTHER_RSA))


def test_a_token_that_was_changed_is_refused(provider: Provider) -> None:
    head, body, signature = token().split(".")
    other = token(sub="boss").split(".")[1]
    assert other != body
    with pytest.raises(NotValid):
        subject(verifier(provider.url), f"{head}.{other}.{signature}")


def test_a_public_key_is_no_shared_secret(provider: Provider) -> None:
    # The classic confusion: the public key, which everybody has, as the secret of an HMAC.
    provider.body = key_set(
        public(RSA, "one", "RS256"), {"kty": "oct", "k": "AAAA", "kid": "two", "alg": "HS256"}
    )
    head = {"alg": "HS256", "kid": "one", "typ": "JWT"}
    claims = {"iss": ISSUER, "aud": AUDIENCE, "sub": "boss", "exp": int(time()) + 600}
    signed = b".".join(encoded(json.dumps(each).encode()) for each in (head, claims))
    pem = RSA.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    seal = encoded(hmac.digest(pem, signed, "sha256"))
    forged = f"{signed.decode()}.{seal.decode()}"
    none = token(None, "one", "none")
    for wrong in (forged, none):
        with pytest.raises(NotValid, match="not accepted"):
            subject(verifier(provider.url), wrong)


@pytest.mark.parametrize("text", ["", "a", "a.b.c", "..", "é.é.é", "[" * 9_000 + ".a.b"])
def test_what_is_no_token_is_refused(provider: Provider, text: str) -> None:
    with pytest.raises(NotValid):
        subject(verifier(provider.url), text)
    assert provider.asked == 0


def test_a_header_nested_without_end_is_refused(provider: Provider) -> None:
    head = encoded(b'{"alg":' + b"[" * 5_000).decode()
    with pytest.raises(NotValid):
        subject(verifier(provider.url), f"{head}.e30.AA")


def test_a_short_key_is_refused(provider: Provider) -> None:
    weak = rsa.generate_private_key(public_exponent=65537, key_size=1024)
    provider.body = key_set(public(weak, "one", "RS256"))
    with pytest.warns(jwt.warnings.InsecureKeyLengthWarning):
        made = token(weak)
    with pytest.raises(NotValid, match="below the minimum"):
        subject(verifier(provider.url), made)


def test_keys_are_fetched_once_and_again_when_they_are_old(provider: Provider) -> None:
    clock = Clock()
    checker = verifier(provider.url, clock)
    for at, asked in ((0, 1), (100, 1), (301, 2), (302, 2)):
        clock.now = at
        assert subject(checker, token()) == "alice"
        assert provider.asked == asked


def test_a_new_key_is_found_and_an_unknown_one_is_not_asked_for_again_and_again(
    provider: Provider,
) -> None:
    clock = Clock()
    checker = verifier(provider.url, clock)
    subject(checker, token())
    provider.body = key_set(public(OTHER_RSA, "two", "RS256"))
    clock.now = 20
    assert subject(checker, token(OTHER_RSA, "two")) == "alice"
    for _ in range(5):
        with pytest.raises(NotValid, match="has not"):
            subject(checker, token(name="three"))
    assert provider.asked == 2
    with pytest.raises(NotValid):  # the key that the provider took back
        subject(checker, token())


def test_a_provider_that_is_away_is_survived_for_a_day(provider: Provider) -> None:
    clock = Clock()
    checker = verifier(provider.url, clock)
    subject(checker, token())
    provider.status = 500
    clock.now = 3_600
    assert subject(checker, token()) == "alice"
    clock.now = 25 * 3_600
    with pytest.raises(NotValid, match="cannot be fetched"):
        subject(checker, token())
    provider.status = 200
    clock.now += 20
    assert subject(checker, token()) == "alice"


@pytest.mark.parametrize(
    ("status", "body", "headers"),
    [
        (404, b"", {}),
        (200, b"<html>", {}),
        (200, b'{"keys": []}', {}),
        (200, b'{"keys": [7, {"kty": "RSA"}, {"kty": "oct", "k": "AA"}]}', {}),
        (200, b"[" * 100_000, {}),
        (200, b" " * 300_000, {}),
        (302, b"", {"Location": "http://127.0.0.1:9/keys"}),
    ],
)
def test_an_answer_that_holds_no_keys_admits_nobody_and_is_told(
    provider: Provider,
    status: int,
    body: bytes,
    headers: dict[str, str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    provider.status, provider.body, provider.headers = status, body, headers
    with pytest.raises(NotValid, match="cannot be fetched"):
        subject(verifier(provider.url), token())
    assert provider.url in capsys.readouterr().err


def test_a_token_that_names_no_key_is_checked_with_the_only_one(provider: Provider) -> None:
    assert subject(verifier(provider.url), token(name=None)) == "alice"
    provider.body = key_set(public(RSA, "one", "RS256"), public(OTHER_RSA, "two", "RS256"))
    with pytest.raises(NotValid):
        subject(verifier(provider.url), token(name=None))


def test_keys_in_a_file_are_read_again(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    file.write_bytes(key_set(public(RSA, "one", "RS256")))
    clock = Clock()
    checker = verifier(str(file), clock)
    assert subject(checker, token()) == "alice"
    file.write_bytes(key_set(public(OTHER_RSA, "two", "RS256")))
    clock.now = 20
    assert subject(checker, token(OTHER_RSA, "two")) == "alice"
    file.unlink()
    clock.now = 100 * 3_600
    assert subject(checker, token(OTHER_RSA, "two")) == "alice"


@pytest.mark.parametrize("where", ["http://id.example/keys", "file:///etc/passwd", "ftp://a/b"])
def test_keys_that_others_can_change_on_the_way_are_refused(where: str) -> None:
    with pytest.raises(InvalidInput, match="https"):
        verifier(where)


def test_a_file_without_keys_is_told_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(KeysUnusable, match="cannot be read"):
        verifier(str(tmp_path / "missing.json"))
    file = tmp_path / "empty.json"
    file.write_text("{}")
    with pytest.raises(KeysUnusable, match="no JSON Web Key Set"):
        verifier(str(file))


SCOPES = """\
{"oauth_scope": "docs:eng", "scope": ["eng/**"]}
{"oauth_scope": "docs:all", "scope": ["**"]}
"""


@pytest.mark.parametrize(
    ("claims", "seen"),
    [
        ({"scope": "docs:eng"}, ("eng/**",)),
        ({"scp": ["docs:eng"]}, ("eng/**",)),
        ({"scope": "docs:all"}, None),
        ({"docs": ["hr/**", "!hr/pay/**"]}, ("hr/**", "!hr/pay/**")),
        ({"docs": "hr/**"}, ("hr/**",)),
        ({"scope": "docs:eng", "docs": ["hr/**"]}, ("eng/**", "hr/**")),
        ({"scope": "docs:all", "docs": ["!hr/**"]}, ("**", "!hr/**")),
    ],
)
def test_scopes_and_the_claim_say_what_is_seen(
    provider: Provider, tmp_path: Path, claims: dict[str, Any], seen: tuple[str, ...] | None
) -> None:
    identity = anyio.run(door(provider, tmp_path).admit, bearer(token(**claims)))
    scope = identity.caller.scope
    assert (scope.globs if scope else None) == seen
    assert identity.caller.name == "oauth:alice"


@pytest.mark.parametrize(
    "claims",
    [
        {},
        {"scope": "docs:other"},
        {"scope": 7},
        {"docs": []},
        {"docs": ["!hr/**"]},
        {"docs": {"hr/**": True}},
        {"docs": [7]},
        {"docs": ["../**"]},
    ],
)
def test_a_token_that_may_see_nothing_is_forbidden(
    provider: Provider, tmp_path: Path, claims: dict[str, Any]
) -> None:
    with pytest.raises(Refused) as caught:
        anyio.run(door(provider, tmp_path).admit, bearer(token(**claims)))
    assert caught.value.status == 403
    assert 'error="insufficient_scope"' in caught.value.headers["WWW-Authenticate"]


def test_without_a_word_on_what_tokens_may_see_nothing_is_served(provider: Provider) -> None:
    settings = OAuthSettings(ISSUER, AUDIENCE, provider.url)
    with pytest.raises(InvalidInput, match="--oauth-claim"):
        Door(None, JwtVerifier(settings))


def door(provider: Provider, folder: Path) -> Door:
    file = folder / "scopes.jsonl"
    file.write_text(SCOPES)
    return Door(TokensFile(file), verifier(provider.url))


def bearer(text: str) -> dict[bytes, bytes]:
    return {b"authorization": f"Bearer {text}".encode()}


def test_a_client_learns_whom_to_ask_and_is_let_in(provider: Provider, tmp_path: Path) -> None:
    for name in ("eng/build.md", "hr/pay.md"):
        path = tmp_path / "docs" / name
        path.parent.mkdir(parents=True)
        path.write_text("# Heading\n\nThe quokka is mentioned in every one of the documents.\n")
    ingest(tmp_path / "docs", tmp_path / "store")
    (tmp_path / "scopes.jsonl").write_text(SCOPES)
    options = ["--oauth-issuer", ISSUER, "--oauth-audience", AUDIENCE]
    options += ["--oauth-jwks", provider.url, "--tokens", "scopes.jsonl"]
    with serving("store", *options, cwd=tmp_path) as served:
        refused = httpx2.post(served.url, **request("tools/list"))
        assert refused.status_code == 401
        where = refused.headers["www-authenticate"].partition('resource_metadata="')[2].rstrip('"')
        assert where == f"{served.base}/.well-known/oauth-protected-resource/mcp"
        metadata = httpx2.get(where).json()
        assert metadata["resource"] == served.url
        assert metadata["authorization_servers"] == [ISSUER]
        expired = {"Authorization": f"Bearer {token(exp=int(time()) - 600)}"}
        again = httpx2.post(served.url, json={}, headers=expired)
        assert 'error_description="The token has expired."' in again.headers["www-authenticate"]
        for mode in ("auto", "legacy"):
            mine = token(scope="docs:eng")
            shown = call(served.url, "search", {"query": "quokka"}, token=mine, mode=mode)
            assert "eng/build.md" in shown
            assert "hr/" not in shown
    assert mine not in "".join(served.written)
