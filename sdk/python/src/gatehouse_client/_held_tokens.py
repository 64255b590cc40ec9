"""The state of the tokens of one connection. The keeper synchronizes access to it."""

import copy
import time
from collections import deque
from dataclasses import dataclass, field

from gatehouse_client.errors import GatehouseError
from gatehouse_client.tokens import Tokens

_EARLY = 60.0
_REMEMBERED = 50

# These can be undone, and then the same refresh token works again.
_UNDOABLE = ("app_paused", "app_disabled", "app_closed", "user_disabled")


@dataclass(frozen=True, slots=True)
class Bearer:
    """An access token that error reporters cannot record from local variables."""

    token: str = field(repr=False)

    def to_headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.token}"}


class HeldTokens:
    __slots__ = ("_dead", "_traded_in", "current", "unsaved")

    def __init__(self, tokens: Tokens) -> None:
        self.current = tokens
        # Newer tokens, which may not be used before they are stored.
        self.unsaved: Tokens | None = None
        self._traded_in: deque[str] = deque(maxlen=_REMEMBERED)
        self._dead: tuple[str, GatehouseError] | None = None

    def is_usable(self, refused: Bearer | None) -> bool:
        tokens = self.current
        is_dead = self._dead is not None and self._dead[0] == tokens.refresh_token
        is_refused = refused is not None and refused.token == tokens.access_token
        return not is_dead and not is_refused and tokens.expires_at - time.time() > _EARLY

    def take_over(self, stored: object) -> None:
        """Another worker may have refreshed already, and stored its tokens."""
        if stored is None:
            return
        if not isinstance(stored, Tokens):
            raise TypeError(f"load must return Tokens or None, not {type(stored).__name__}.")
        # A store that lags behind may return a spent refresh token, and sending it again would count as a replay.
        if stored.refresh_token not in (self.current.refresh_token, *self._traded_in):
            self.current = stored

    def raise_if_dead(self) -> None:
        if self._dead and self._dead[0] == self.current.refresh_token:
            raise fresh(self._dead[1])

    def note_refusal(self, error: GatehouseError) -> None:
        if error.code == "invalid_grant" and error.reason not in _UNDOABLE:
            self._dead = self.current.refresh_token, fresh(error)

    def note_newer(self, newer: Tokens) -> None:
        self._traded_in.append(self.current.refresh_token)
        self.unsaved = newer

    def note_saved(self) -> None:
        if self.unsaved is not None:
            self.current, self.unsaved = self.unsaved, None


def fresh(error: GatehouseError) -> GatehouseError:
    """A new exception for each caller: a shared one would collect all their tracebacks."""
    same = copy.copy(error)
    same.__cause__ = error.__cause__
    return same
