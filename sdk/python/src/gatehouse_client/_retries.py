"""Which requests are sent again, and when."""

import random
import time
from dataclasses import dataclass

from gatehouse_client._responses import ApiResponse
from gatehouse_client._request import Request
from gatehouse_client._transport import Transport
from gatehouse_client.errors import GatehouseError

_ATTEMPTS = 3
_FIRST_PAUSE = 0.25
_MAX_PAUSE = 30.0
_NO_RESPONSE = ("timeout", "network_error")


@dataclass(frozen=True, slots=True)
class Policy:
    """`statuses`: those after which to try again. `without_response`: whether to try again without a response."""

    statuses: tuple[int, ...]
    without_response: bool
    attempt_timeout: float = float("inf")
    start_within: float = float("inf")


IDEMPOTENT = Policy(statuses=(408, 429, 502, 503, 504), without_response=True)

# A repeated refresh gets the same pair for 30 seconds, even if another worker uses the pair meanwhile.
# So the last attempt ends before that.
REFRESH = Policy(statuses=(408, 429, 502, 503, 504), without_response=True, attempt_timeout=8.0, start_within=20.0)

# A code that arrives twice revokes its grant, and only 429 means for certain that it was not processed.
EXCHANGE = Policy(statuses=(429,), without_response=False)


def send(transport: Transport, request: Request, policy: Policy) -> ApiResponse:
    timeout = min(transport.timeout, policy.attempt_timeout)
    began = time.monotonic()
    attempts = 1
    while isinstance(outcome := transport.attempt(request, timeout), GatehouseError):
        pause = pause_after(outcome, attempts, policy)
        if pause is None or time.monotonic() - began + pause > policy.start_within:
            raise outcome
        time.sleep(pause)
        attempts += 1
    return outcome


def pause_after(error: GatehouseError, attempts: int, policy: Policy) -> float | None:
    """None: do not try again."""
    may_help = error.status in policy.statuses or (policy.without_response and error.code in _NO_RESPONSE)
    if not may_help or attempts >= _ATTEMPTS:
        return None
    if error.retry_after is not None:
        return error.retry_after if error.retry_after <= _MAX_PAUSE else None
    # Jitter: callers that failed together do not retry together.
    return _FIRST_PAUSE * float(2 ** (attempts - 1)) * random.uniform(0.5, 1.0)
