"""The state of the tokens of one connection. The refresher synchronizes access to it."""

import copy
from collections import deque
from dataclasses import dataclass, field, replace
from datetime import timedelta

from gatehouse_client._times import now
from gatehouse_client.errors import GatehouseError
from gatehouse_client.tokens import Tokens

_EXPIRY_MARGIN = timedelta(minutes=1)
_MAX_SPENT = 50

# These can be undone, and then the same refresh token works again.
_TEMPORARY_REASONS = ("app_paused", "app_disabled", "app_closed", "user_disabled")


@dataclass(frozen=True, slots=True)
class Bearer:
    """An access token that error reporters cannot record from local variables."""

    token: str = field(repr=False)

    def to_headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.token}"}


class TokenState:
    __slots__ = ("_rejected", "_spent", "current", "unsaved")

    def __init__(self, tokens: Tokens) -> None:
        self.current = _check_again(tokens)
        # Newer tokens, which may not be used before they are stored.
        self.unsaved: Tokens | None = None
        self._spent: deque[str] = deque(maxlen=_MAX_SPENT)
        self._rejected: tuple[str, GatehouseError] | None = None

    def is_usable(self, rejected: Bearer | None) -> bool:
        tokens = self.current
        is_rejected = self._rejected is not None and self._rejected[0] == tokens.refresh_token
        is_rejected_token = rejected is not None and rejected.token == tokens.access_token
        return not is_rejected and not is_rejected_token and tokens.expires_at - now() > _EXPIRY_MARGIN

    def use_stored(self, stored: object) -> None:
        """Another worker may have refreshed already, and stored its tokens."""
        if stored is None:
            return
        if not isinstance(stored, Tokens):
            raise TypeError(f"load must return Tokens or None, not {type(stored).__name__}.")
        # A store that lags behind may return a spent refresh token, and sending it again would count as a replay.
        if stored.refresh_token not in (self.current.refresh_token, *self._spent):
            self.current = _check_again(stored)

    def raise_if_rejected(self) -> None:
        if self._rejected and self._rejected[0] == self.current.refresh_token:
            raise copy_error(self._rejected[1])

    def record_rejection(self, error: GatehouseError) -> None:
        if error.code == "invalid_grant" and error.reason not in _TEMPORARY_REASONS:
            self._rejected = self.current.refresh_token, copy_error(error)

    def record_refreshed(self, newer: Tokens) -> None:
        self._spent.append(self.current.refresh_token)
        self.unsaved = newer

    def record_saved(self) -> None:
        if self.unsaved is not None:
            self.current, self.unsaved = self.unsaved, None


def _check_again(tokens: Tokens) -> Tokens:
    """Unpickled tokens of 0.1.0 still have a number as their time."""
    return replace(tokens)


def copy_error(error: GatehouseError) -> GatehouseError:
    """A new exception for each caller: a shared one would collect all their tracebacks."""
    copied = copy.copy(error)
    copied.__cause__ = error.__cause__
    return copied
