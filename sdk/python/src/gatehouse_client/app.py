"""An app with its credentials, on the app's own server."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from gatehouse_client import _arguments as arguments
from gatehouse_client._answers import Answer
from gatehouse_client._keeper import TokenKeeper
from gatehouse_client._retries import EXCHANGE, REFRESH, REPEATABLE, Policy, ask
from gatehouse_client._transport import Request, Transport
from gatehouse_client.api import Api, RefreshingApi
from gatehouse_client.authorization import Authorization, begin, read_code
from gatehouse_client.introspection import Introspection, read_introspection
from gatehouse_client.tokens import Tokens, read_tokens


class App:
    """What is registered with Gatehouse. It keeps nothing between calls, so threads may share it."""

    __slots__ = ("_credentials", "_redirect_uri", "_transport")

    def __init__(
        self, *, base_url: str, client_id: str, client_secret: str, redirect_uri: str, timeout: float = 30.0
    ) -> None:
        self._transport = Transport(base_url, timeout)
        self._redirect_uri = arguments.read_redirect_uri(redirect_uri)
        self._credentials = _Credentials(
            client_id=arguments.read_text("client_id", client_id),
            client_secret=arguments.read_text("client_secret", client_secret),
        )

    def __repr__(self) -> str:
        return f"App(base_url={self._transport.base_url!r}, client_id={self._credentials.client_id!r})"

    def begin_authorization(
        self,
        *,
        scopes: list[str] | tuple[str, ...],
        optional_scopes: list[str] | tuple[str, ...] | None = None,
        prompt: Literal["none", "login"] | None = None,
    ) -> Authorization:
        """Where to send a visitor who is to allow these scopes. `prompt="none"` never shows them a page.

        They may leave `optional_scopes` unticked: the `scopes` of the tokens are what was granted.
        """
        parameters = {
            "client_id": self._credentials.client_id,
            "redirect_uri": self._redirect_uri,
            "scope": " ".join(arguments.read_scopes("scopes", scopes)),
        }
        if optional_scopes is not None:
            parameters["optional_scope"] = " ".join(arguments.read_scopes("optional_scopes", optional_scopes))
        if arguments.read_prompt(prompt) is not None:
            parameters["prompt"] = str(prompt)
        return begin(f"{self._transport.base_url}/api/v1/oauth/authorize", parameters)

    def finish_authorization(self, callback_url: str, *, state: str, code_verifier: str) -> Tokens:
        """Exchanges what the visitor came back with: the full address, or its query.

        `state` and `code_verifier` are those that `begin_authorization` gave for this visitor. Where the visitor said
        no, it raises `GatehouseError` with the code `access_denied`.
        """
        if not isinstance(callback_url, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"callback_url must be text, not {type(callback_url).__name__}.")
        request = self._request(
            "token",
            grant_type="authorization_code",
            redirect_uri=self._redirect_uri,
            code_verifier=arguments.read_text("code_verifier", code_verifier),
            code=read_code(callback_url, arguments.read_text("state", state), self._transport.base_url),
        )
        return self._ask_for_tokens(request, EXCHANGE)

    def refresh(self, refresh_token: str, *, scopes: list[str] | tuple[str, ...] | None = None) -> Tokens:
        """One refresh; `scopes` may narrow the new access token. The old refresh token is used up: store the new one.

        `app.api(...)` does this by itself, in time and once for all threads.
        """
        narrowed = {} if scopes is None else {"scope": " ".join(arguments.read_scopes("scopes", scopes))}
        token = arguments.read_token("refresh_token", refresh_token)
        request = self._request("token", grant_type="refresh_token", refresh_token=token, **narrowed)
        return self._ask_for_tokens(request, REFRESH)

    def revoke(self, token: str) -> None:
        """Ends a token. A refresh token ends the whole grant, an access token only itself."""
        self._ask(self._request("revoke", token=arguments.read_token("token", token)), REPEATABLE)

    def introspect(self, token: str) -> Introspection:
        """What a token of this app is worth right now."""
        request = self._request("introspect", token=arguments.read_token("token", token))
        return read_introspection(self._ask(request, REPEATABLE))

    def api(
        self,
        *,
        tokens: Tokens,
        save: Callable[[Tokens], object],
        load: Callable[[], Tokens | None] | None = None,
    ) -> Api:
        """The business API with tokens that are refreshed when they have to be.

        `save` stores the new tokens, and has returned before they are used. `load` reads what is stored, for several
        processes that share a store: it is asked just before a refresh, in case another has been quicker.
        """
        if not isinstance(tokens, Tokens):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"tokens must be Tokens, not {type(tokens).__name__}.")
        arguments.check_function("save", save)
        if load is not None:
            arguments.check_function("load", load)
        return RefreshingApi(self._transport, TokenKeeper(tokens, refresh=self.refresh, save=save, load=load))

    def _ask_for_tokens(self, request: Request, policy: Policy) -> Tokens:
        asked_at = time.time()
        return read_tokens(self._ask(request, policy), asked_at)

    def _ask(self, request: Request, policy: Policy) -> Answer:
        return ask(self._transport, request, policy)

    def _request(self, endpoint: str, **fields: str) -> Request:
        body = json.dumps(fields | self._credentials.to_fields()).encode()
        return Request("POST", f"/api/v1/oauth/{endpoint}", {"content-type": "application/json"}, body)


@dataclass(frozen=True, slots=True)
class _Credentials:
    client_id: str
    client_secret: str = field(repr=False)

    def to_fields(self) -> dict[str, str]:
        return {"client_id": self.client_id, "client_secret": self.client_secret}
