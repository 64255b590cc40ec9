"""Refreshes the tokens of one connection, which any number of threads may share."""

import inspect
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from typing import Protocol

from gatehouse_client._token_state import Bearer, TokenState, copy_error
from gatehouse_client.errors import GatehouseError
from gatehouse_client.tokens import Tokens


class TokenSource(Protocol):
    """The source of the token for calls of the business API."""

    def current(self) -> Bearer: ...

    def replace(self, rejected: Bearer) -> Bearer | None:
        """A replacement for a token that the API rejected; None if there is none."""
        ...


class FixedToken:
    """A token that is never refreshed."""

    __slots__ = ("_bearer",)

    def __init__(self, token: str) -> None:
        self._bearer = Bearer(token)

    def current(self) -> Bearer:
        return self._bearer

    def replace(self, rejected: Bearer) -> Bearer | None:
        return None


class TokenRefresher:
    """One refresh at a time. The first thread runs it; all others wait, and share its outcome."""

    def __init__(
        self,
        tokens: Tokens,
        *,
        refresh: Callable[[str], Tokens],
        save: Callable[[Tokens], object],
        load: Callable[[], Tokens | None] | None,
    ) -> None:
        self._state = TokenState(tokens)
        self._refresh = refresh
        self._save = save
        self._load = load
        self._lock = threading.Lock()
        self._renewal: Future[Tokens] | None = None
        self._renewing_thread: int | None = None

    def current(self) -> Bearer:
        return self._get(None)

    def replace(self, rejected: Bearer) -> Bearer | None:
        return self._get(rejected)

    def _get(self, rejected: Bearer | None) -> Bearer:
        while True:
            with self._lock:
                renewal = self._renewal
                if renewal is None and self._state.unsaved is None and self._state.is_usable(rejected):
                    return Bearer(self._state.current.access_token)
                begins = renewal is None
                if renewal is None:
                    renewal = self._renewal = Future[Tokens]()
                    self._renewing_thread = threading.get_ident()
            if begins:
                self._run(renewal, rejected)
            elif self._renewing_thread == threading.get_ident():
                raise RuntimeError("save and load must not call the Api that waits for them.")
            tokens = _outcome(renewal)
            if tokens is not None:
                return Bearer(tokens.access_token)

    def _run(self, renewal: Future[Tokens], rejected: Bearer | None) -> None:
        try:
            renewal.set_result(self._renew(rejected))
        except Exception as error:
            renewal.set_exception(error)
        finally:
            with self._lock:
                self._renewal = self._renewing_thread = None
            # Only has an effect if this thread was interrupted: then one of the waiting threads starts over.
            renewal.cancel()

    def _renew(self, rejected: Bearer | None) -> Tokens:
        self._save_unsaved()
        if not self._state.is_usable(rejected) and self._load:
            self._state.use_stored(self._load())
        if not self._state.is_usable(rejected):
            self._refresh_current()
            self._save_unsaved()
        return self._state.current

    def _save_unsaved(self) -> None:
        """Uses new tokens only once they are stored. If that fails, they are kept and stored at the next call."""
        if self._state.unsaved is not None:
            if inspect.isawaitable(self._save(self._state.unsaved)):
                raise TypeError("save must have saved when it returns; it returned something to be awaited.")
            self._state.record_saved()

    def _refresh_current(self) -> None:
        self._state.raise_if_rejected()
        try:
            self._state.record_refreshed(self._refresh(self._state.current.refresh_token))
        except GatehouseError as error:
            self._state.record_rejection(error)
            raise


def _outcome(renewal: Future[Tokens]) -> Tokens | None:
    """None: the thread that renewed them was interrupted."""
    try:
        error = renewal.exception()
    except CancelledError:
        return None
    if error is None:
        return renewal.result()
    raise copy_error(error) if isinstance(error, GatehouseError) else error
