"""What the business API gives."""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from decimal import Decimal
from urllib.parse import parse_qs

from gatehouse_client._answers import Answer, Fields

_AMOUNT = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
_LINK = re.compile(r"<([^<>]*)>((?:\s*;\s*[^\s;,=]+=(?:\"[^\"]*\"|[^\s;,\"]*))*)")
_REL = re.compile(r";\s*rel=(?:\"([^\"]*)\"|([^\s;,\"]*))", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Business:
    """A business that the token acts in."""

    id: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Invoice:
    """`total` is exact at any size, and `str(invoice.total)` is what the API wrote, its zeros included."""

    id: str
    number: str
    status: str
    total: Decimal
    currency: str
    customer_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InvoicePage:
    """`next_cursor` asks for the page after this one; None where this is the last."""

    invoices: tuple[Invoice, ...]
    next_cursor: str | None


def read_businesses(answer: Answer) -> list[Business]:
    return [Business(id=fields.text("id"), name=fields.string("name")) for fields in answer.items()]


def read_invoice_page(answer: Answer, cursors_seen: Collection[str] = ()) -> InvoicePage:
    invoices = tuple(_read_invoice(fields) for fields in answer.items())
    next_cursor = _read_next_cursor(answer)
    if next_cursor in cursors_seen:
        raise answer.unreadable("The pages lead in a circle: the next one was read before.")
    return InvoicePage(invoices=invoices, next_cursor=next_cursor)


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


def _read_next_cursor(answer: Answer) -> str | None:
    """Only the cursor is taken out of the address: no token is ever sent where an answer points."""
    target = _next_link(answer.headers.get_all("link") or ())
    if target is None:
        return None
    cursor = parse_qs(target.partition("?")[2].partition("#")[0]).get("cursor")
    # Without it a list that goes on would seem to be complete.
    if cursor is None:
        raise answer.unreadable("The link to the next page has no cursor.")
    return cursor[0]


def _next_link(headers: Iterable[str]) -> str | None:
    """RFC 8288 §3: several links may share a header, and one link may have several relations."""
    for header in headers:
        for link in _LINK.finditer(header):
            rel = _REL.search(link[2])
            if rel and "next" in (rel[1] or rel[2] or "").lower().split():
                return link[1]
    return None
