"""Keeps the tokens of one connection fresh, for as many threads as use it."""

import inspect
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from typing import Protocol

from gatehouse_client._held_tokens import Bearer, HeldTokens, fresh
from gatehouse_client.errors import GatehouseError
from gatehouse_client.tokens import Tokens


class TokenSource(Protocol):
    """The source of the token for calls of the business API."""

    def current(self) -> Bearer: ...

    def replace(self, refused: Bearer) -> Bearer | None:
        """Another token instead of one that the API rejected; None if there is none."""
        ...


class GivenToken:
    """A token that is never refreshed."""

    __slots__ = ("_bearer",)

    def __init__(self, token: str) -> None:
        self._bearer = Bearer(token)

    def current(self) -> Bearer:
        return self._bearer

    def replace(self, refused: Bearer) -> Bearer | None:
        return None


class TokenKeeper:
    """One renewal at a time. The first thread does the work; all others wait, and share its outcome."""

    def __init__(
        self,
        tokens: Tokens,
        *,
        refresh: Callable[[str], Tokens],
        save: Callable[[Tokens], object],
        load: Callable[[], Tokens | None] | None,
    ) -> None:
        self._held = HeldTokens(tokens)
        self._refresh = refresh
        self._save = save
        self._load = load
        self._lock = threading.Lock()
        self._renewal: Future[Tokens] | None = None
        self._renewing_thread: int | None = None

    def current(self) -> Bearer:
        return self._get(None)

    def replace(self, refused: Bearer) -> Bearer | None:
        return self._get(refused)

    def _get(self, refused: Bearer | None) -> Bearer:
        while True:
            with self._lock:
                renewal = self._renewal
                if renewal is None and self._held.unsaved is None and self._held.is_usable(refused):
                    return Bearer(self._held.current.access_token)
                begins = renewal is None
                if renewal is None:
                    renewal = self._renewal = Future[Tokens]()
                    self._renewing_thread = threading.get_ident()
            if begins:
                self._run(renewal, refused)
            elif self._renewing_thread == threading.get_ident():
                raise RuntimeError("save and load must not call the Api that waits for them.")
            tokens = _outcome(renewal)
            if tokens is not None:
                return Bearer(tokens.access_token)

    def _run(self, renewal: Future[Tokens], refused: Bearer | None) -> None:
        try:
            renewal.set_result(self._renew(refused))
        except Exception as error:
            renewal.set_exception(error)
        finally:
            with self._lock:
                self._renewal = self._renewing_thread = None
            # Only has an effect if this thread was interrupted: then one of the waiting threads starts over.
            renewal.cancel()

    def _renew(self, refused: Bearer | None) -> Tokens:
        self._save_unsaved()
        if not self._held.is_usable(refused) and self._load:
            self._held.take_over(self._load())
        if not self._held.is_usable(refused):
            self._refresh_held()
            self._save_unsaved()
        return self._held.current

    def _save_unsaved(self) -> None:
        """Uses new tokens only once they are stored. If that fails, they are kept and stored at the next call."""
        if self._held.unsaved is not None:
            if inspect.isawaitable(self._save(self._held.unsaved)):
                raise TypeError("save must have saved when it returns; it returned something to be awaited.")
            self._held.note_saved()

    def _refresh_held(self) -> None:
        self._held.raise_if_dead()
        try:
            self._held.note_newer(self._refresh(self._held.current.refresh_token))
        except GatehouseError as error:
            self._held.note_refusal(error)
            raise


def _outcome(renewal: Future[Tokens]) -> Tokens | None:
    """None: the thread that renewed them was interrupted."""
    try:
        error = renewal.exception()
    except CancelledError:
        return None
    if error is None:
        return renewal.result()
    raise fresh(error) if isinstance(error, GatehouseError) else error
