"""Keeps the tokens of one connection fresh, for as many threads as use it."""

import copy
import inspect
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, field
from typing import Protocol

from gatehouse_client.errors import GatehouseError
from gatehouse_client.tokens import Tokens

_EARLY = 60.0
_REMEMBERED = 50

# Whoever stopped the app or the user can undo it, and then the same refresh token works again.
_UNDOABLE = ("app_paused", "app_disabled", "app_closed", "user_disabled")


@dataclass(frozen=True, slots=True)
class Bearer:
    """An access token that does not show where an error reporter records the variables of a function."""

    token: str = field(repr=False)

    def to_headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.token}"}


class TokenSource(Protocol):
    """Where calls of the business API get their token."""

    def current(self) -> Bearer: ...

    def replace(self, refused: Bearer) -> Bearer | None:
        """Another token instead of one that the API refused; None if there is none to be had."""
        ...


class GivenToken:
    """A token alone: when it ends, it ends."""

    __slots__ = ("_bearer",)

    def __init__(self, token: str) -> None:
        self._bearer = Bearer(token)

    def current(self) -> Bearer:
        return self._bearer

    def replace(self, refused: Bearer) -> Bearer | None:
        return None


class TokenKeeper:
    """One renewal at a time. Whoever begins it does the work; all others wait, and share what comes of it."""

    def __init__(
        self,
        tokens: Tokens,
        *,
        refresh: Callable[[str], Tokens],
        save: Callable[[Tokens], object],
        load: Callable[[], Tokens | None] | None,
    ) -> None:
        self._held = tokens
        self._refresh = refresh
        self._save = save
        self._load = load
        self._unsaved: Tokens | None = None
        self._traded_in: deque[str] = deque(maxlen=_REMEMBERED)
        self._dead: tuple[str, GatehouseError] | None = None
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
                if renewal is None and self._unsaved is None and self._is_usable(self._held, refused):
                    return Bearer(self._held.access_token)
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
            # Without effect but where this thread was interrupted: then one of those who wait begins again.
            renewal.cancel()

    def _renew(self, refused: Bearer | None) -> Tokens:
        self._save_unsaved()
        if not self._is_usable(self._held, refused):
            self._take_over()
        if not self._is_usable(self._held, refused):
            self._unsaved = self._refresh_held()
            self._save_unsaved()
        return self._held

    def _save_unsaved(self) -> None:
        """New tokens are used only once they are stored. If that fails they are kept, and stored at the next call."""
        if self._unsaved is not None:
            if inspect.isawaitable(self._save(self._unsaved)):
                raise TypeError("save must have saved when it returns; it returned something to be awaited.")
            self._held, self._unsaved = self._unsaved, None

    def _take_over(self) -> None:
        """Another worker may have refreshed already, and stored what it got."""
        stored = self._load() if self._load else None
        if stored is None:
            return
        if not isinstance(stored, Tokens):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"load must return Tokens or None, not {type(stored).__name__}.")
        # A store that lags behind may give back what is used up, and sending that again would be taken for theft.
        if stored.refresh_token not in (self._held.refresh_token, *self._traded_in):
            self._held = stored

    def _refresh_held(self) -> Tokens:
        held = self._held
        if self._dead and self._dead[0] == held.refresh_token:
            raise _fresh(self._dead[1])
        try:
            newer = self._refresh(held.refresh_token)
        except GatehouseError as error:
            if error.code == "invalid_grant" and error.reason not in _UNDOABLE:
                self._dead = held.refresh_token, _fresh(error)
            raise
        self._traded_in.append(held.refresh_token)
        return newer

    def _is_usable(self, tokens: Tokens, refused: Bearer | None) -> bool:
        is_dead = self._dead is not None and self._dead[0] == tokens.refresh_token
        is_refused = refused is not None and refused.token == tokens.access_token
        return not is_dead and not is_refused and tokens.expires_at - time.time() > _EARLY


def _outcome(renewal: Future[Tokens]) -> Tokens | None:
    """None: whoever was to renew them has been interrupted."""
    try:
        error = renewal.exception()
    except CancelledError:
        return None
    if error is None:
        return renewal.result()
    # One exception that many threads raise would gather the tracebacks of all of them.
    raise _fresh(error) if isinstance(error, GatehouseError) else error


def _fresh(error: GatehouseError) -> GatehouseError:
    same = copy.copy(error)
    same.__cause__ = error.__cause__
    return same
