"""An app with its credentials, on the app's own server."""

from collections.abc import Callable, Iterator
from typing import Literal

from gatehouse_client import _arguments as arguments
from gatehouse_client._responses import ApiResponse
from gatehouse_client._app_requests import AppRequests
from gatehouse_client._token_refresher import TokenRefresher
from gatehouse_client._pages import Query, read_query
from gatehouse_client._request import Request
from gatehouse_client._retries import EXCHANGE, REFRESH, IDEMPOTENT, Policy, send
from gatehouse_client._times import now
from gatehouse_client._transport import Transport
from gatehouse_client.api import Api, RefreshingApi
from gatehouse_client.authorization import Authorization
from gatehouse_client.events import Event, EventPage, read_event_page
from gatehouse_client.introspection import Introspection, read_introspection
from gatehouse_client.names import Scope
from gatehouse_client.tokens import Tokens, read_tokens


class App:
    """What is registered with Gatehouse. It keeps nothing between calls, so threads may share it."""

    __slots__ = ("_requests", "_transport")

    def __init__(
        self, *, base_url: str, client_id: str, client_secret: str, redirect_uri: str, timeout: float = 30.0
    ) -> None:
        self._transport = Transport(base_url, timeout)
        self._requests = AppRequests(self._transport.base_url, client_id, client_secret, redirect_uri)

    def __repr__(self) -> str:
        return f"App({self._requests!r})"

    def begin_authorization(
        self,
        *,
        scopes: list[Scope] | tuple[Scope, ...],
        optional_scopes: list[Scope] | tuple[Scope, ...] | None = None,
        prompt: Literal["none", "login"] | None = None,
    ) -> Authorization:
        """The URL to send a visitor to, who is asked to allow these scopes. `prompt="none"` never shows a page.

        They may leave `optional_scopes` unticked: the `scopes` of the tokens are what was granted.
        """
        return self._requests.begin(scopes, optional_scopes, prompt)

    def finish_authorization(self, callback_url: str, *, state: str, code_verifier: str) -> Tokens:
        """Checks the callback URL, or its query, and exchanges its code.

        `state` and `code_verifier` are those that `begin_authorization` returned for this visitor. If the visitor
        denied, it raises `GatehouseError` with the code `access_denied`.
        """
        return self._fetch_tokens(self._requests.exchange(callback_url, state, code_verifier), EXCHANGE)

    def refresh(self, refresh_token: str, *, scopes: list[Scope] | tuple[Scope, ...] | None = None) -> Tokens:
        """One refresh; `scopes` may narrow the new access token. The old refresh token is spent: store the new one.

        `app.api(...)` does this automatically, in time and once for all threads.
        """
        return self._fetch_tokens(self._requests.refresh(refresh_token, scopes), REFRESH)

    def revoke(self, token: str) -> None:
        """Revokes a token. A refresh token ends the whole grant, an access token only itself."""
        self._send(self._requests.revoke(token), IDEMPOTENT)

    def introspect(self, token: str) -> Introspection:
        """Introspects a token of this app."""
        return read_introspection(self._send(self._requests.introspect(token), IDEMPOTENT))

    def event_page(self, *, limit: int | None = None, cursor: str | None = None) -> EventPage:
        """One page of the app's events of the last 30 days, oldest first: `limit` of them (1 to 200), after `cursor`."""
        return self._event_page(read_query(size=("limit", limit), cursor=cursor))

    def events(self, *, after: str | None = None, page_size: int | None = None) -> Iterator[Event]:
        """The app's events of the last 30 days, oldest first, for a receiver that was down.

        `after` is the id of the last event that the app has. Pages are fetched as needed.
        """
        if after is not None:
            arguments.read_words("after", after)
        return self._each_event(read_query(size=("page_size", page_size), cursor=after))

    def api(
        self,
        *,
        tokens: Tokens,
        save: Callable[[Tokens], object],
        load: Callable[[], Tokens | None] | None = None,
    ) -> Api:
        """The business API with tokens that are refreshed automatically.

        `save` stores the new tokens, and has returned before they are used. `load` reads the stored tokens, for several
        processes that share a store: it is called just before a refresh, in case another process has refreshed already.
        """
        arguments.check_tokens(tokens, Tokens)
        arguments.check_function("save", save)
        if load is not None:
            arguments.check_function("load", load)
        return RefreshingApi(self._transport, TokenRefresher(tokens, refresh=self.refresh, save=save, load=load))

    def _each_event(self, query: Query) -> Iterator[Event]:
        page = self._event_page(query)
        yield from page.events
        seen: set[str] = set()
        while page.next_cursor is not None:
            seen.add(page.next_cursor)
            page = self._event_page(query | {"cursor": page.next_cursor}, seen)
            yield from page.events

    def _event_page(self, query: Query, cursors_seen: frozenset[str] | set[str] = frozenset()) -> EventPage:
        return read_event_page(self._send(self._requests.events(query), IDEMPOTENT), cursors_seen)

    def _fetch_tokens(self, request: Request, policy: Policy) -> Tokens:
        sent_at = now()
        return read_tokens(self._send(request, policy), sent_at)

    def _send(self, request: Request, policy: Policy) -> ApiResponse:
        return send(self._transport, request, policy)
