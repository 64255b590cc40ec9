"""Refreshes the tokens of one connection, which any number of tasks may share."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Protocol

from gatehouse_client._token_state import Bearer, TokenState, copy_error
from gatehouse_client.errors import GatehouseError
from gatehouse_client.tokens import Tokens

Save = Callable[[Tokens], object]
Load = Callable[[], Tokens | None | Awaitable[Tokens | None]]


class AsyncTokenSource(Protocol):
    """The source of the token for calls of the business API."""

    async def current(self) -> Bearer: ...

    async def replace(self, rejected: Bearer) -> Bearer | None:
        """A replacement for a token that the API rejected; None if there is none."""
        ...


class AsyncFixedToken:
    """A token that is never refreshed."""

    __slots__ = ("_bearer",)

    def __init__(self, token: str) -> None:
        self._bearer = Bearer(token)

    async def current(self) -> Bearer:
        return self._bearer

    async def replace(self, rejected: Bearer) -> Bearer | None:
        return None


class AsyncTokenRefresher:
    """One refresh at a time, in its own task: cancelling a caller does not cancel it for the others."""

    def __init__(
        self, tokens: Tokens, *, refresh: Callable[[str], Awaitable[Tokens]], save: Save, load: Load | None
    ) -> None:
        self._state = TokenState(tokens)
        self._refresh = refresh
        self._save = save
        self._load = load
        self._renewal: asyncio.Task[GatehouseError | None] | None = None

    async def current(self) -> Bearer:
        return await self._get(None)

    async def replace(self, rejected: Bearer) -> Bearer | None:
        return await self._get(rejected)

    async def _get(self, rejected: Bearer | None) -> Bearer:
        if self._renewal is not None or self._state.unsaved is not None or not self._state.is_usable(rejected):
            if self._renewal is None:
                self._renewal = asyncio.create_task(self._run(rejected))
            elif self._renewal is asyncio.current_task():
                raise RuntimeError("save and load must not call the AsyncApi that waits for them.")
            error = await asyncio.shield(self._renewal)
            if error is not None:
                raise copy_error(error)
        return Bearer(self._state.current.access_token)

    async def _run(self, rejected: Bearer | None) -> GatehouseError | None:
        """Returns an error as a value, so that each caller raises its own exception."""
        try:
            await self._renew(rejected)
        except GatehouseError as error:
            return copy_error(error)
        finally:
            self._renewal = None
        return None

    async def _renew(self, rejected: Bearer | None) -> None:
        await self._save_unsaved()
        if not self._state.is_usable(rejected) and self._load:
            stored = self._load()
            self._state.use_stored(await stored if inspect.isawaitable(stored) else stored)
        if not self._state.is_usable(rejected):
            await self._refresh_current()
            await self._save_unsaved()

    async def _save_unsaved(self) -> None:
        """Uses new tokens only once they are stored. If that fails, they are kept and stored at the next call."""
        if self._state.unsaved is not None:
            saving = self._save(self._state.unsaved)
            if inspect.isawaitable(saving):
                await saving
            self._state.record_saved()

    async def _refresh_current(self) -> None:
        self._state.raise_if_rejected()
        try:
            self._state.record_refreshed(await self._refresh(self._state.current.refresh_token))
        except GatehouseError as error:
            self._state.record_rejection(error)
            raise
