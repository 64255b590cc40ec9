"""A request, and what both clients share when they send one."""

from dataclasses import dataclass, field

from gatehouse_client._version import VERSION

MAX_RESPONSE_BYTES = 4 * 1024 * 1024
ALWAYS_SENT = {"accept": "application/json", "user-agent": f"gatehouse-client-python/{VERSION}"}


@dataclass(frozen=True, slots=True)
class Request:
    """Only its method and path are in `repr`: the rest contains secrets."""

    method: str
    path: str
    headers: dict[str, str] = field(repr=False)
    body: bytes | None = field(default=None, repr=False)
