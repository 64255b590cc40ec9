"""An app with its credentials, on the app's own server, for asyncio."""

from collections.abc import AsyncIterator
from types import TracebackType
from typing import Literal

from gatehouse_client import _arguments as arguments
from gatehouse_client._responses import ApiResponse
from gatehouse_client._app_requests import AppRequests
from gatehouse_client._async_token_refresher import AsyncTokenRefresher, Load, Save
from gatehouse_client._async_transport import AsyncTransport, send_async
from gatehouse_client._pages import Query, read_query
from gatehouse_client._request import Request
from gatehouse_client._retries import EXCHANGE, REFRESH, IDEMPOTENT, Policy
from gatehouse_client._times import now
from gatehouse_client.async_api import AsyncApi, RefreshingAsyncApi
from gatehouse_client.authorization import Authorization
from gatehouse_client.events import Event, EventPage, read_event_page
from gatehouse_client.introspection import Introspection, read_introspection
from gatehouse_client.names import Scope
from gatehouse_client.tokens import Tokens, read_tokens


class AsyncApp:
    """What is registered with Gatehouse. Tasks of one event loop may share it.

    It keeps connections open: close it with `async with` or `await app.aclose()`.
    """

    __slots__ = ("_requests", "_transport")

    def __init__(
        self, *, base_url: str, client_id: str, client_secret: str, redirect_uri: str, timeout: float = 30.0
    ) -> None:
        self._transport = AsyncTransport(base_url, timeout)
        self._requests = AppRequests(self._transport.base_url, client_id, client_secret, redirect_uri)

    def __repr__(self) -> str:
        return f"AsyncApp({self._requests!r})"

    async def __aenter__(self) -> "AsyncApp":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Closes its connections, which every `AsyncApi` of this app uses."""
        await self._transport.aclose()

    def begin_authorization(
        self,
        *,
        scopes: list[Scope] | tuple[Scope, ...],
        optional_scopes: list[Scope] | tuple[Scope, ...] | None = None,
        prompt: Literal["none", "login"] | None = None,
    ) -> Authorization:
        """The URL to send a visitor to, who is asked to allow these scopes; as in `App`. Sends nothing."""
        return self._requests.begin(scopes, optional_scopes, prompt)

    async def finish_authorization(self, callback_url: str, *, state: str, code_verifier: str) -> Tokens:
        """Checks the callback URL, or its query, and exchanges its code; as in `App`."""
        return await self._fetch_tokens(self._requests.exchange(callback_url, state, code_verifier), EXCHANGE)

    async def refresh(self, refresh_token: str, *, scopes: list[Scope] | tuple[Scope, ...] | None = None) -> Tokens:
        """One refresh; `scopes` may narrow the new access token. The old refresh token is spent: store the new one.

        `app.api(...)` does this automatically, in time and once for all tasks.
        """
        return await self._fetch_tokens(self._requests.refresh(refresh_token, scopes), REFRESH)

    async def revoke(self, token: str) -> None:
        """Revokes a token. A refresh token ends the whole grant, an access token only itself."""
        await self._send(self._requests.revoke(token), IDEMPOTENT)

    async def introspect(self, token: str) -> Introspection:
        """Introspects a token of this app."""
        return read_introspection(await self._send(self._requests.introspect(token), IDEMPOTENT))

    async def event_page(self, *, limit: int | None = None, cursor: str | None = None) -> EventPage:
        """One page of the app's events of the last 30 days, oldest first: `limit` of them (1 to 200), after `cursor`."""
        return await self._event_page(read_query(size=("limit", limit), cursor=cursor))

    def events(self, *, after: str | None = None, page_size: int | None = None) -> AsyncIterator[Event]:
        """The app's events of the last 30 days, oldest first, after the event with the id `after`."""
        if after is not None:
            arguments.read_words("after", after)
        return self._each_event(read_query(size=("page_size", page_size), cursor=after))

    def api(self, *, tokens: Tokens, save: Save, load: Load | None = None) -> AsyncApi:
        """The business API with tokens that are refreshed automatically.

        `save` stores the new tokens; if it is asynchronous, it is awaited before they are used. `load` reads what is
        stored, for several processes that share a store.
        """
        arguments.check_tokens(tokens, Tokens)
        arguments.check_callable("save", save)
        if load is not None:
            arguments.check_callable("load", load)
        refresher = AsyncTokenRefresher(tokens, refresh=self.refresh, save=save, load=load)
        return RefreshingAsyncApi(self._transport, refresher)

    async def _each_event(self, query: Query) -> AsyncIterator[Event]:
        seen: set[str] = set()
        page = await self._event_page(query)
        while True:
            for event in page.events:
                yield event
            if page.next_cursor is None:
                return
            seen.add(page.next_cursor)
            page = await self._event_page(query | {"cursor": page.next_cursor}, seen)

    async def _event_page(self, query: Query, cursors_seen: frozenset[str] | set[str] = frozenset()) -> EventPage:
        return read_event_page(await self._send(self._requests.events(query), IDEMPOTENT), cursors_seen)

    async def _fetch_tokens(self, request: Request, policy: Policy) -> Tokens:
        sent_at = now()
        return read_tokens(await self._send(request, policy), sent_at)

    async def _send(self, request: Request, policy: Policy) -> ApiResponse:
        return await send_async(self._transport, request, policy)
