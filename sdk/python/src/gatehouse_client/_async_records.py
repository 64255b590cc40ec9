"""How tasks list, read and write records of the business API."""

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from typing import Generic

from gatehouse_client._responses import ApiResponse
from gatehouse_client._records import Detail, Item, Kind, Page, request_of, write_of
from gatehouse_client._request import Request

AsyncSend = Callable[[Request], Awaitable[ApiResponse]]
"""Sends a request with a valid token, in one business."""


class AsyncRecords(Generic[Item, Detail]):
    """The records of one kind in a business."""

    __slots__ = ("_send", "_kind")

    def __init__(self, send: AsyncSend, kind: Kind[Item, Detail]) -> None:
        self._send = send
        self._kind = kind

    async def get(self, record_id: str) -> Detail:
        """One record with all its fields and its `etag`."""
        return self._kind.read_detail(await self._send(request_of(self._kind.path_of(record_id))))

    def _list(self, options: Mapping[str, object]) -> AsyncIterator[Item]:
        # Checked here, since a generator would check them only when the first record is read.
        self._kind.page(options, None)
        return self._each(options)

    async def _each(self, options: Mapping[str, object]) -> AsyncIterator[Item]:
        seen: set[str] = set()
        page = await self._list_page(options, None)
        while True:
            for item in page.items:
                yield item
            if page.next_cursor is None:
                return
            seen.add(page.next_cursor)
            page = await self._list_page(options, page.next_cursor, seen)

    async def _list_page(
        self, options: Mapping[str, object], cursor: str | None, cursors_seen: Collection[str] = ()
    ) -> Page[Item]:
        return self._kind.read_page(await self._send(self._kind.page(options, cursor)), cursors_seen)

    async def _create(self, values: Mapping[str, object], idempotency_key: str | None) -> Detail:
        return await self._write(write_of("POST", self._kind.path, values, idempotency_key))

    async def _update(
        self, record_id: str, changes: Mapping[str, object], if_match: str | None, idempotency_key: str | None
    ) -> Detail:
        return await self._write(write_of("PATCH", self._kind.path_of(record_id), changes, idempotency_key, if_match))

    async def _run(
        self,
        action: str,
        record_id: str,
        values: Mapping[str, object] | None,
        if_match: str | None,
        idempotency_key: str | None,
    ) -> Detail:
        path = f"{self._kind.path_of(record_id)}/{action}"
        return await self._write(write_of("POST", path, values, idempotency_key, if_match))

    async def _write(self, request: Request) -> Detail:
        return self._kind.read_detail(await self._send(request))
