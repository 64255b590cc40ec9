"""Lets the library wait without anybody waiting."""

import time
from contextlib import AbstractContextManager
from unittest.mock import patch


class Clock:
    """Stands in for the module `time` where the library decides on repeating. Sleeping winds it."""

    def __init__(self) -> None:
        self.waits: list[float] = []
        self._wound = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self._wound

    def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.advance_clock(seconds)

    def advance_clock(self, seconds: float) -> None:
        self._wound += seconds


def wound_clock(clock: Clock | None = None) -> AbstractContextManager[Clock]:
    return patch("gatehouse_client._retries.time", clock or Clock())
