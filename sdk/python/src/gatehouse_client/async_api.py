"""Calls of the business API, for asyncio."""

from collections.abc import AsyncIterator, Collection, Mapping
from dataclasses import replace
from types import TracebackType

from gatehouse_client import _arguments as arguments
from gatehouse_client._responses import ApiResponse
from gatehouse_client._async_token_refresher import AsyncFixedToken, AsyncTokenSource
from gatehouse_client._async_transport import AsyncTransport, send_async
from gatehouse_client._token_state import Bearer
from gatehouse_client._own_requests import Method, QueryValues, own_request
from gatehouse_client._pages import Query, read_query
from gatehouse_client._request import Request
from gatehouse_client._retries import IDEMPOTENT
from gatehouse_client.business_api import AsyncBusinessApi
from gatehouse_client.errors import GatehouseError
from gatehouse_client.invoice_pages import (
    Business,
    InvoicePage,
    business_headers,
    invoices_path,
    read_businesses,
    read_invoice_page,
)
from gatehouse_client.invoices import Invoice, InvoiceStatus
from gatehouse_client.me import Me, read_me


class AsyncApi:
    """The business API with an access token. Tasks of one event loop may share it.

    One from `app.api(...)` refreshes its tokens. One that is created with an access token works until it expires.
    Close it with `async with` or `await api.aclose()`; one from `app.api(...)` is closed with the app.
    """

    __slots__ = ("_tokens", "_transport")

    _tokens: AsyncTokenSource
    _transport: AsyncTransport

    def __init__(self, *, base_url: str, access_token: str, timeout: float = 30.0) -> None:
        self._transport = AsyncTransport(base_url, timeout)
        self._tokens = AsyncFixedToken(arguments.read_token("access_token", access_token))

    def __repr__(self) -> str:
        return f"AsyncApi(base_url={self._transport.base_url!r})"

    async def __aenter__(self) -> "AsyncApi":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Closes its connections."""
        await self._transport.aclose()

    async def me(self) -> Me:
        """The user, business, app and scopes of the token."""
        return read_me(await self._send(Request("GET", "/api/v1/me", {})))

    async def businesses(self) -> list[Business]:
        """The business of the token; a list, since there may be more in the future."""
        return read_businesses(await self._send(Request("GET", "/api/v1/businesses", {})))

    def business(self, business_id: str) -> AsyncBusinessApi:
        """The records and reports of a business. Sends nothing yet."""
        headers = business_headers(business_id)
        return AsyncBusinessApi(lambda request: self._send(replace(request, headers=request.headers | headers)))

    async def request(
        self,
        path: str,
        *,
        method: Method = "GET",
        business_id: str | None = None,
        query: QueryValues | None = None,
        body: Mapping[str, object] | None = None,
        if_match: str | None = None,
        idempotency_key: str | None = None,
    ) -> ApiResponse:
        """Sends a request to any other path of the API, with a valid token, and returns the response if it is successful.

        `business_id` is sent as `x-business-id`, which the business API needs, and `body` as JSON.
        """
        request = own_request(
            path,
            method=method,
            business_id=business_id,
            query=query,
            body=body,
            if_match=if_match,
            idempotency_key=idempotency_key,
        )
        return await self._send(request)

    async def get_access_token(self) -> str:
        """An access token for requests of your own. One from `app.api(...)` is refreshed before if it is about to expire."""
        return (await self._tokens.current()).token

    async def invoice_page(
        self, business_id: str, *, status: InvoiceStatus | None = None, limit: int | None = None, cursor: str | None = None
    ) -> InvoicePage:
        """Deprecated: use `business(business_id).invoices.list_page`."""
        query = read_query(status=status, size=("limit", limit), cursor=cursor)
        return await self._invoice_page(business_id, query)

    def invoices(
        self, business_id: str, *, status: InvoiceStatus | None = None, page_size: int | None = None
    ) -> AsyncIterator[Invoice]:
        """Deprecated: use `business(business_id).invoices.list`."""
        query = read_query(status=status, size=("page_size", page_size))
        return self._each_invoice(arguments.read_business_id(business_id), query)

    async def _each_invoice(self, business_id: str, query: Query) -> AsyncIterator[Invoice]:
        seen: set[str] = set()
        page = await self._invoice_page(business_id, query)
        while True:
            for invoice in page.invoices:
                yield invoice
            if page.next_cursor is None:
                return
            seen.add(page.next_cursor)
            page = await self._invoice_page(business_id, query | {"cursor": page.next_cursor}, seen)

    async def _invoice_page(self, business_id: str, query: Query, cursors_seen: Collection[str] = ()) -> InvoicePage:
        request = Request("GET", invoices_path(query), business_headers(business_id))
        return read_invoice_page(await self._send(request), cursors_seen)

    async def _send(self, request: Request) -> ApiResponse:
        bearer = await self._tokens.current()
        try:
            return await self._send_with(request, bearer)
        except GatehouseError as error:
            if error.status != 401 or error.code != "invalid_token":
                raise
            rejection = error
        replacement = await self._tokens.replace(bearer)
        if replacement is None:
            raise rejection
        return await self._send_with(request, replacement)

    async def _send_with(self, request: Request, bearer: Bearer) -> ApiResponse:
        return await send_async(self._transport, replace(request, headers=bearer.to_headers() | request.headers), IDEMPOTENT)


class RefreshingAsyncApi(AsyncApi):
    """The result of `app.api(...)`. It uses the connections of the app."""

    __slots__ = ()

    def __init__(self, transport: AsyncTransport, tokens: AsyncTokenSource) -> None:
        self._transport = transport
        self._tokens = tokens

    async def aclose(self) -> None:
        """Does nothing: close the app instead."""
