"""Calls of the business API."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from gatehouse_client import _arguments as arguments
from gatehouse_client._responses import ApiResponse
from gatehouse_client._token_state import Bearer
from gatehouse_client._token_refresher import FixedToken, TokenSource
from gatehouse_client._own_requests import Method, QueryValues, own_request
from gatehouse_client._pages import Query, read_query
from gatehouse_client._request import Request
from gatehouse_client._retries import IDEMPOTENT, send
from gatehouse_client._transport import Transport
from gatehouse_client.business_api import BusinessApi
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


class Api:
    """The business API with an access token. Threads may share it.

    One from `app.api(...)` refreshes its tokens. One that is created with an access token works until it expires.
    """

    __slots__ = ("_tokens", "_transport")

    _tokens: TokenSource
    _transport: Transport

    def __init__(self, *, base_url: str, access_token: str, timeout: float = 30.0) -> None:
        self._transport = Transport(base_url, timeout)
        self._tokens = FixedToken(arguments.read_token("access_token", access_token))

    def __repr__(self) -> str:
        return f"Api(base_url={self._transport.base_url!r})"

    def me(self) -> Me:
        """The user, business, app and scopes of the token."""
        return read_me(self._send(Request("GET", "/api/v1/me", {})))

    def businesses(self) -> list[Business]:
        """The business of the token; a list, since there may be more in the future."""
        return read_businesses(self._send(Request("GET", "/api/v1/businesses", {})))

    def business(self, business_id: str) -> BusinessApi:
        """The records and reports of a business. Sends nothing yet."""
        headers = business_headers(business_id)
        return BusinessApi(lambda request: self._send(replace(request, headers=request.headers | headers)))

    def request(
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
        return self._send(request)

    def get_access_token(self) -> str:
        """An access token for requests of your own. One from `app.api(...)` is refreshed before if it is about to expire."""
        return self._tokens.current().token

    def invoice_page(
        self, business_id: str, *, status: InvoiceStatus | None = None, limit: int | None = None, cursor: str | None = None
    ) -> InvoicePage:
        """Deprecated: use `business(business_id).invoices.list_page`."""
        return self._invoice_page(business_id, read_query(status=status, size=("limit", limit), cursor=cursor))

    def invoices(
        self, business_id: str, *, status: InvoiceStatus | None = None, page_size: int | None = None
    ) -> Iterator[Invoice]:
        """Deprecated: use `business(business_id).invoices.list`."""
        query = read_query(status=status, size=("page_size", page_size))
        return self._each_invoice(arguments.read_business_id(business_id), query)

    def _each_invoice(self, business_id: str, query: Query) -> Iterator[Invoice]:
        page = self._invoice_page(business_id, query)
        yield from page.invoices
        seen: set[str] = set()
        while page.next_cursor is not None:
            seen.add(page.next_cursor)
            page = self._invoice_page(business_id, query | {"cursor": page.next_cursor}, seen)
            yield from page.invoices

    def _invoice_page(self, business_id: str, query: Query, cursors_seen: Collection[str] = ()) -> InvoicePage:
        request = Request("GET", invoices_path(query), business_headers(business_id))
        return read_invoice_page(self._send(request), cursors_seen)

    def _send(self, request: Request) -> ApiResponse:
        bearer = self._tokens.current()
        try:
            return self._send_with(request, bearer)
        except GatehouseError as error:
            if error.status != 401 or error.code != "invalid_token":
                raise
            rejection = error
        replacement = self._tokens.replace(bearer)
        if replacement is None:
            raise rejection
        return self._send_with(request, replacement)

    def _send_with(self, request: Request, bearer: Bearer) -> ApiResponse:
        return send(self._transport, replace(request, headers=bearer.to_headers() | request.headers), IDEMPOTENT)


class RefreshingApi(Api):
    """The result of `app.api(...)`."""

    __slots__ = ()

    def __init__(self, transport: Transport, tokens: TokenSource) -> None:
        self._transport = transport
        self._tokens = tokens
