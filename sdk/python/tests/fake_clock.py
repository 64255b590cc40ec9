"""A fake clock, so that tests do not wait for pauses of the library."""

import time
from contextlib import AbstractContextManager
from unittest.mock import patch


class Clock:
    """Replaces the module `time` in the retry logic. Sleeping advances it."""

    def __init__(self) -> None:
        self.waits: list[float] = []
        self._advanced = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self._advanced

    def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.advance_clock(seconds)

    def advance_clock(self, seconds: float) -> None:
        self._advanced += seconds


def fake_clock(clock: Clock | None = None) -> AbstractContextManager[Clock]:
    return patch("gatehouse_client._retries.time", clock or Clock())
