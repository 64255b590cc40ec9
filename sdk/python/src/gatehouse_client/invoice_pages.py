"""Businesses, and pages of invoices."""

from collections.abc import Collection
from dataclasses import dataclass
from urllib.parse import urlencode

from gatehouse_client import _arguments as arguments
from gatehouse_client._responses import ApiResponse
from gatehouse_client._pages import Query, read_next_cursor
from gatehouse_client._records import read_objects
from gatehouse_client.invoices import Invoice


@dataclass(frozen=True, slots=True, kw_only=True)
class Business:
    """The business of a token."""

    id: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InvoicePage:
    """`next_cursor` is the cursor of the next page; None on the last one."""

    invoices: tuple[Invoice, ...]
    next_cursor: str | None


def invoices_path(query: Query) -> str:
    return "/api/v1/accounting/invoices" + (f"?{urlencode(query)}" if query else "")


def business_headers(business_id: object) -> dict[str, str]:
    return {"x-business-id": arguments.read_business_id(business_id)}


def read_businesses(response: ApiResponse) -> list[Business]:
    return [Business(id=fields.text("id"), name=fields.string("name")) for fields in response.items()]


def read_invoice_page(response: ApiResponse, cursors_seen: Collection[str] = ()) -> InvoicePage:
    return InvoicePage(invoices=read_objects(Invoice, response), next_cursor=read_next_cursor(response, cursors_seen))
