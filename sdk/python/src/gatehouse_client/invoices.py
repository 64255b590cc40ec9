"""Results of the business API."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from decimal import Decimal
from urllib.parse import urlencode

from gatehouse_client import _arguments as arguments
from gatehouse_client._answers import Answer, Fields
from gatehouse_client._pages import Query, read_next_cursor

_AMOUNT = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Business:
    """The business of a token."""

    id: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Invoice:
    """`total` is exact at any size, and `str(invoice.total)` is the text of the API, including zeros."""

    id: str
    number: str
    status: str
    total: Decimal
    currency: str
    customer_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InvoicePage:
    """`next_cursor` is the cursor of the next page; None on the last one."""

    invoices: tuple[Invoice, ...]
    next_cursor: str | None


def invoices_path(query: Query) -> str:
    return "/api/v1/accounting/invoices" + (f"?{urlencode(query)}" if query else "")


def invoices_headers(business_id: object) -> dict[str, str]:
    return {"x-business-id": arguments.read_business_id(business_id)}


def read_businesses(answer: Answer) -> list[Business]:
    return [Business(id=fields.text("id"), name=fields.string("name")) for fields in answer.items()]


def read_invoice_page(answer: Answer, cursors_seen: Collection[str] = ()) -> InvoicePage:
    invoices = tuple(_read_invoice(fields) for fields in answer.items())
    return InvoicePage(invoices=invoices, next_cursor=read_next_cursor(answer, cursors_seen))


def _read_invoice(fields: Fields) -> Invoice:
    total = fields.text("total")
    if not _AMOUNT.fullmatch(total):
        raise fields.unreadable("total")
    return Invoice(
        id=fields.text("id"),
        number=fields.string("number"),
        status=fields.string("status"),
        total=Decimal(total),
        currency=fields.string("currency"),
        customer_id=fields.string("customerId"),
    )
