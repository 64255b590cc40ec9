"""Keeps the tokens of one connection fresh, for as many tasks as use it."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Protocol

from gatehouse_client._held_tokens import Bearer, HeldTokens, fresh
from gatehouse_client.errors import GatehouseError
from gatehouse_client.tokens import Tokens

Save = Callable[[Tokens], object]
Load = Callable[[], Tokens | None | Awaitable[Tokens | None]]


class AsyncTokenSource(Protocol):
    """The source of the token for calls of the business API."""

    async def current(self) -> Bearer: ...

    async def replace(self, refused: Bearer) -> Bearer | None:
        """Another token instead of one that the API rejected; None if there is none."""
        ...


class AsyncGivenToken:
    """A token that is never refreshed."""

    __slots__ = ("_bearer",)

    def __init__(self, token: str) -> None:
        self._bearer = Bearer(token)

    async def current(self) -> Bearer:
        return self._bearer

    async def replace(self, refused: Bearer) -> Bearer | None:
        return None


class AsyncTokenKeeper:
    """One renewal at a time, in its own task: cancelling a caller does not cancel it for the others."""

    def __init__(
        self, tokens: Tokens, *, refresh: Callable[[str], Awaitable[Tokens]], save: Save, load: Load | None
    ) -> None:
        self._held = HeldTokens(tokens)
        self._refresh = refresh
        self._save = save
        self._load = load
        self._renewal: asyncio.Task[GatehouseError | None] | None = None

    async def current(self) -> Bearer:
        return await self._get(None)

    async def replace(self, refused: Bearer) -> Bearer | None:
        return await self._get(refused)

    async def _get(self, refused: Bearer | None) -> Bearer:
        if self._renewal is not None or self._held.unsaved is not None or not self._held.is_usable(refused):
            if self._renewal is None:
                self._renewal = asyncio.create_task(self._run(refused))
            elif self._renewal is asyncio.current_task():
                raise RuntimeError("save and load must not call the AsyncApi that waits for them.")
            error = await asyncio.shield(self._renewal)
            if error is not None:
                raise fresh(error)
        return Bearer(self._held.current.access_token)

    async def _run(self, refused: Bearer | None) -> GatehouseError | None:
        """Returns an error as a value, so that each caller raises its own exception."""
        try:
            await self._renew(refused)
        except GatehouseError as error:
            return fresh(error)
        finally:
            self._renewal = None
        return None

    async def _renew(self, refused: Bearer | None) -> None:
        await self._save_unsaved()
        if not self._held.is_usable(refused) and self._load:
            stored = self._load()
            self._held.take_over(await stored if inspect.isawaitable(stored) else stored)
        if not self._held.is_usable(refused):
            await self._refresh_held()
            await self._save_unsaved()

    async def _save_unsaved(self) -> None:
        """Uses new tokens only once they are stored. If that fails, they are kept and stored at the next call."""
        if self._held.unsaved is not None:
            saving = self._save(self._held.unsaved)
            if inspect.isawaitable(saving):
                await saving
            self._held.note_saved()

    async def _refresh_held(self) -> None:
        self._held.raise_if_dead()
        try:
            self._held.note_newer(await self._refresh(self._held.current.refresh_token))
        except GatehouseError as error:
            self._held.note_refusal(error)
            raise
