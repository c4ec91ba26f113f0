"""Who may come in over HTTP: a bearer token (RFC 6750) becomes an identity, or is refused."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken

from contextpull.errors import InvalidInput
from contextpull.retrieval.scope import Scope
from contextpull.server.callers import Caller
from contextpull.server.limits import Refused
from contextpull.server.tokens import PREFIX, TokensFile

if TYPE_CHECKING:
    from contextpull.server.oauth import Claims, JwtVerifier

_EVERYTHING = ("**",)


class Identity(NamedTuple):
    """Who sent a request."""

    caller: Caller
    issuer: str | None = None
    """The identity provider that vouches for the caller; None for the tokens file."""

    @property
    def user(self) -> AuthenticatedUser:
        """As the SDK tells the owners of sessions apart; without the token itself.

        A caller of another scope is another owner: what a session was told may not outlive it.
        """
        scope = self.caller.scope
        token = AccessToken(
            token="",
            client_id=self.caller.name,
            scopes=[],
            subject="\n".join(scope.globs) if scope else None,
            claims={"iss": self.issuer} if self.issuer else None,
        )
        return AuthenticatedUser(token)


class Door:
    """Checks what callers show; without a tokens file and an identity provider, nobody gets in."""

    def __init__(
        self,
        tokens: TokensFile | None,
        oauth: "JwtVerifier | None" = None,
        metadata_url: str = "",
    ) -> None:
        """`metadata_url` is where clients learn which identity provider to ask (RFC 9728).

        Raises InvalidInput when no token of the identity provider could ever see a document.
        """
        self._tokens = tokens
        self._oauth = oauth
        self._challenge = f'Bearer realm="contextpull"{_metadata(metadata_url)}'
        if oauth and not oauth.settings.claim and not (tokens and tokens.tokens.oauth_scopes):
            raise InvalidInput(
                "Nothing says what tokens of the identity provider may see. Name the claim that"
                ' holds globs with --oauth-claim, or write lines like {"oauth_scope": "docs",'
                ' "scope": ["**"]} into the file of --tokens.'
            )

    @property
    def is_current(self) -> bool:
        """False while the tokens file cannot be used, and what it said before still holds."""
        return self._tokens is None or self._tokens.is_current

    async def admit(self, headers: Mapping[bytes, bytes]) -> Identity:
        """Who a request's token stands for; raises Refused."""
        scheme, _, token = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not token:
            raise self._refused("no_token", "A token is needed: Authorization: Bearer TOKEN.")
        if token.startswith(PREFIX) and self._tokens:
            return self._of_file(self._tokens, token)
        if self._oauth:
            return await self._of_provider(self._oauth, token)
        raise self._refused("wrong_token", "The token is not known here.", "invalid_token")

    def _of_file(self, tokens: TokensFile, token: str) -> Identity:
        found = tokens.tokens.find(token)
        if found is None:
            raise self._refused("wrong_token", "The token is not known here.", "invalid_token")
        if found.has_expired:
            raise self._refused("expired_token", "The token has expired.", "invalid_token")
        return Identity(_caller(found.name, found.scope))

    async def _of_provider(self, oauth: "JwtVerifier", token: str) -> Identity:
        from contextpull.server.oauth import NotValid

        try:
            claims = await oauth.verify(token)
        except NotValid as error:
            raise self._refused("wrong_token", str(error), "invalid_token") from None
        globs = self._globs(claims)
        if not globs:
            sentence = "The token is valid, but its scopes let it see nothing here."
            raise self._refused("no_scope", sentence, "insufficient_scope", status=403)
        try:
            caller = _caller(f"oauth:{claims.subject}", globs)
        except InvalidInput as error:
            raise self._refused("no_scope", str(error), "insufficient_scope", status=403) from None
        return Identity(caller, oauth.settings.issuer)

    def _globs(self, claims: "Claims") -> tuple[str, ...]:
        """What any scope of a token lets see, and what its claim says, which may take out again."""
        mapped = self._tokens.tokens.oauth_scopes if self._tokens else ()
        by_scope = [glob for name, globs in mapped if name in claims.scopes for glob in globs]
        globs = (*dict.fromkeys(by_scope), *claims.globs)
        # A scope that only takes out holds the rest: that is for a tokens file to say, not a claim.
        return globs if any(not glob.startswith("!") for glob in globs) else ()

    def _refused(self, reason: str, sentence: str, code: str = "", status: int = 401) -> Refused:
        header = self._challenge
        if code:
            # A quote or a line break of a library's sentence would end the header's value.
            text = "".join(
                each if each.isascii() and each.isprintable() else " " for each in sentence
            )
            text = text.replace('"', "'").replace("\\", "/")
            header += f', error="{code}", error_description="{text}"'
        return Refused(status, reason, sentence, {"WWW-Authenticate": header})


def _metadata(url: str) -> str:
    return f', resource_metadata="{url}"' if url else ""


def _caller(name: str, globs: tuple[str, ...]) -> Caller:
    return Caller(name, None if globs == _EVERYTHING else Scope(globs))
