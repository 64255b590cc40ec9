"""Records of the business API: their requests and responses, and how threads list, read and write them."""

import datetime as dt
import json
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, TypedDict, TypeVar
from urllib.parse import urlencode
from uuid import uuid4

from gatehouse_client import _arguments as arguments
from gatehouse_client._responses import ApiResponse
from gatehouse_client._pages import read_next_cursor
from gatehouse_client._request import Request
from gatehouse_client._values import read_values, to_camel, to_wire

Item = TypeVar("Item")
Detail = TypeVar("Detail")
Value = TypeVar("Value")

Send = Callable[[Request], ApiResponse]
"""Sends a request with a valid token, in one business."""


class ListOptions(TypedDict, total=False):
    """Which part of a list. `since` and `until` are of the field that `sort` names; `limit` is the size of a page."""

    since: dt.date | str | None
    until: dt.date | str | None
    limit: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[Item]):
    """`next_cursor` is the cursor of the next page; None on the last one."""

    items: tuple[Item, ...]
    next_cursor: str | None


def request_of(path: str, query: Mapping[str, object] | None = None) -> Request:
    """A request to read. What is None is left out."""
    given = {name: value for name, value in (query or {}).items() if value is not None}
    if "limit" in given:
        arguments.read_page_size("limit", given["limit"])
    texts = {to_camel(name): _query_text(name, value) for name, value in given.items()}
    return Request("GET", path + (f"?{urlencode(texts)}" if texts else ""), {})


def _query_text(name: str, value: object) -> str:
    text = str(to_wire(value)) if isinstance(value, (dt.date, int)) else arguments.read_words(name, value)
    return to_camel(text) if name == "sort" else text


def read_object(kind: type[Value], response: ApiResponse) -> Value:
    return read_values(kind, response.fields())


def read_objects(kind: type[Value], response: ApiResponse) -> tuple[Value, ...]:
    return tuple(read_values(kind, fields) for fields in response.items())


@dataclass(frozen=True, slots=True)
class Kind(Generic[Item, Detail]):
    """A kind of records. Threads and tasks share its requests and how its responses are read."""

    path: str
    item: type[Item]
    detail: type[Detail]

    def path_of(self, record_id: object) -> str:
        return f"{self.path}/{arguments.read_uuid('record_id', record_id)}"

    def page(self, options: Mapping[str, object], cursor: str | None) -> Request:
        return request_of(self.path, {**options, "cursor": cursor})

    def read_page(self, response: ApiResponse, cursors_seen: Collection[str] = ()) -> Page[Item]:
        return Page(items=read_objects(self.item, response), next_cursor=read_next_cursor(response, cursors_seen))

    def read_detail(self, response: ApiResponse) -> Detail:
        etag = response.headers.get("etag")
        if etag is None:
            raise response.invalid("The response has no ETag.")
        return read_values(self.detail, response.fields(), {"etag": etag})


def write_of(
    method: str,
    path: str,
    values: Mapping[str, object] | None,
    idempotency_key: str | None,
    if_match: str | None = None,
) -> Request:
    headers = write_headers(idempotency_key, if_match)
    if values is None:
        return Request(method, path, headers)
    return Request(method, path, headers | {"content-type": "application/json"}, json.dumps(to_wire(values)).encode())


def write_headers(idempotency_key: str | None, if_match: str | None) -> dict[str, str]:
    """The key is chosen here, once for all attempts, so that a repeated request does not run twice."""
    key = str(uuid4()) if idempotency_key is None else arguments.read_token("idempotency_key", idempotency_key)
    headers = {"idempotency-key": key}
    if if_match is not None:
        headers["if-match"] = arguments.read_token("if_match", if_match)
    return headers


class Records(Generic[Item, Detail]):
    """The records of one kind in a business."""

    __slots__ = ("_send", "_kind")

    def __init__(self, send: Send, kind: Kind[Item, Detail]) -> None:
        self._send = send
        self._kind = kind

    def get(self, record_id: str) -> Detail:
        """One record with all its fields and its `etag`."""
        return self._kind.read_detail(self._send(request_of(self._kind.path_of(record_id))))

    def _list(self, options: Mapping[str, object]) -> Iterator[Item]:
        # Checked here, since a generator would check them only when the first record is read.
        self._kind.page(options, None)
        return self._each(options)

    def _each(self, options: Mapping[str, object]) -> Iterator[Item]:
        page = self._list_page(options, None)
        yield from page.items
        seen: set[str] = set()
        while page.next_cursor is not None:
            seen.add(page.next_cursor)
            page = self._list_page(options, page.next_cursor, seen)
            yield from page.items

    def _list_page(
        self, options: Mapping[str, object], cursor: str | None, cursors_seen: Collection[str] = ()
    ) -> Page[Item]:
        return self._kind.read_page(self._send(self._kind.page(options, cursor)), cursors_seen)

    def _create(self, values: Mapping[str, object], idempotency_key: str | None) -> Detail:
        return self._write(write_of("POST", self._kind.path, values, idempotency_key))

    def _update(
        self, record_id: str, changes: Mapping[str, object], if_match: str | None, idempotency_key: str | None
    ) -> Detail:
        return self._write(write_of("PATCH", self._kind.path_of(record_id), changes, idempotency_key, if_match))

    def _run(
        self,
        action: str,
        record_id: str,
        values: Mapping[str, object] | None,
        if_match: str | None,
        idempotency_key: str | None,
    ) -> Detail:
        path = f"{self._kind.path_of(record_id)}/{action}"
        return self._write(write_of("POST", path, values, idempotency_key, if_match))

    def _write(self, request: Request) -> Detail:
        return self._kind.read_detail(self._send(request))
