"""Paging by the Link header (RFC 8288)."""

import re
from collections.abc import Collection, Iterable
from urllib.parse import parse_qs

from gatehouse_client import _arguments as arguments
from gatehouse_client._responses import ApiResponse

_LINK = re.compile(r"<([^<>]*)>((?:\s*;\s*[^\s;,=]+=(?:\"[^\"]*\"|[^\s;,\"]*))*)")
_REL = re.compile(r";\s*rel=(?:\"([^\"]*)\"|([^\s;,\"]*))", re.IGNORECASE)

Query = dict[str, str]


def read_query(*, status: object = None, size: tuple[str, object] = ("limit", None), cursor: object = None) -> Query:
    """`size` has the name of the caller's argument."""
    query: Query = {}
    if status is not None:
        query["status"] = arguments.read_words("status", status)
    if size[1] is not None:
        query["limit"] = str(arguments.read_page_size(*size))
    if cursor is not None:
        query["cursor"] = arguments.read_words("cursor", cursor)
    return query


def read_next_cursor(response: ApiResponse, cursors_seen: Collection[str]) -> str | None:
    """Only the cursor of the link is used: no token is sent to a URL of a response."""
    target = _next_link(response.headers.get_all("link") or ())
    if target is None:
        return None
    cursor = parse_qs(target.partition("?")[2].partition("#")[0]).get("cursor")
    # Otherwise an incomplete list would seem to be complete.
    if cursor is None:
        raise response.invalid("The link to the next page has no cursor.")
    if cursor[0] in cursors_seen:
        raise response.invalid("The pages link in a cycle: the next one was already read.")
    return cursor[0]


def _next_link(headers: Iterable[str]) -> str | None:
    """RFC 8288 §3: several links may share a header, and one link may have several relations."""
    for header in headers:
        for link in _LINK.finditer(header):
            rel = _REL.search(link[2])
            if rel and "next" in (rel[1] or rel[2] or "").lower().split():
                return link[1]
    return None
