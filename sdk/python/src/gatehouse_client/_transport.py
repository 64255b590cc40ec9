"""One attempt at one request."""

from http.client import HTTPException, HTTPResponse
from typing import cast
from urllib.error import URLError
from urllib.request import Request as WireRequest

from gatehouse_client import _arguments as arguments
from gatehouse_client._answers import Answer
from gatehouse_client._connections import new_opener
from gatehouse_client._failures import explain_failure, too_large
from gatehouse_client._request import ALWAYS_SENT, LARGEST_ANSWER, Request
from gatehouse_client.errors import GatehouseError

# What the standard library stumbles over in an answer, or in a proxy's address. Not every exception is among them: what
# a signal raises, such as the end of a worker's time, is for the caller.
_STUMBLES = (
    OSError,
    HTTPException,
    ValueError,
    TypeError,
    AttributeError,
    AssertionError,
    LookupError,
    ArithmeticError,
    RuntimeError,
    MemoryError,
)


class Transport:
    """The way to one server, and nowhere else: no redirect is followed, no address from an answer is used."""

    __slots__ = ("_opener", "base_url", "timeout")

    def __init__(self, base_url: object, timeout: object) -> None:
        self.base_url = arguments.read_origin(base_url)
        self.timeout = arguments.read_timeout(timeout)
        # Plain http is allowed because it stays on this machine: a proxy from the environment must not carry it away.
        self._opener = new_opener(
            tls=self.base_url.startswith("https:"), through_proxies=not arguments.is_loopback(self.base_url)
        )

    def attempt(self, request: Request, timeout: float) -> Answer | GatehouseError:
        """Whatever comes of it, as a value. It is raised, if at all, where nothing secret is at hand."""
        try:
            answer = self._send(request, timeout)
        except _STUMBLES as caught:
            cause = caught.reason if isinstance(caught, URLError) and isinstance(caught.reason, OSError) else caught
            return explain_failure(cause, timeout)
        return answer if isinstance(answer, GatehouseError) or 200 <= answer.status < 300 else answer.refusal()

    def _send(self, request: Request, timeout: float) -> Answer | GatehouseError:
        wire = WireRequest(
            self.base_url + request.path,
            data=request.body,
            headers=ALWAYS_SENT | request.headers,
            method=request.method,
        )
        with cast(HTTPResponse, self._opener.open(wire, timeout=timeout)) as response:
            body = _read_bounded(response)
            if body is None:
                return too_large(response.status, response.headers)
            return Answer(response.status, response.headers, body)


def _read_bounded(response: HTTPResponse) -> bytes | None:
    if response.length is not None and response.length > LARGEST_ANSWER:
        return None
    body = response.read(LARGEST_ANSWER + 1)
    if len(body) > LARGEST_ANSWER:
        return None
    # Reading up to a limit ends without complaint where the connection was cut: then this answer was lost.
    if response.length:
        raise ConnectionError("The connection was closed in the middle of the answer.")
    return body
