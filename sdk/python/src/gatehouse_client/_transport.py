"""One attempt at one request."""

from http.client import HTTPException, HTTPResponse
from typing import cast
from urllib.error import URLError
from urllib.request import Request as WireRequest

from gatehouse_client import _arguments as arguments
from gatehouse_client._responses import ApiResponse
from gatehouse_client._connections import new_opener
from gatehouse_client._failures import explain_failure, too_large
from gatehouse_client._request import ALWAYS_SENT, MAX_RESPONSE_BYTES, Request
from gatehouse_client.errors import GatehouseError

# What the standard library raises for a bad response or proxy address. Not every exception: what
# a signal handler raises, such as the timeout of a worker, is for the caller.
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
    """Sends requests to one server only: no redirect is followed, no URL of a response is used."""

    __slots__ = ("_opener", "base_url", "timeout")

    def __init__(self, base_url: object, timeout: object) -> None:
        self.base_url = arguments.read_origin(base_url)
        self.timeout = arguments.read_timeout(timeout)
        # Plain http is allowed because it stays on this machine: it must not use a proxy from the environment.
        self._opener = new_opener(
            tls=self.base_url.startswith("https:"), through_proxies=not arguments.is_loopback(self.base_url)
        )

    def attempt(self, request: Request, timeout: float) -> ApiResponse | GatehouseError:
        """Returns the outcome as a value. Errors are raised where no frame contains a secret."""
        try:
            response = self._send(request, timeout)
        except _STUMBLES as caught:
            cause = caught.reason if isinstance(caught, URLError) and isinstance(caught.reason, OSError) else caught
            return explain_failure(cause, timeout)
        return response if isinstance(response, GatehouseError) or 200 <= response.status < 300 else response.to_error()

    def _send(self, request: Request, timeout: float) -> ApiResponse | GatehouseError:
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
            return ApiResponse(response.status, response.headers, body)


def _read_bounded(response: HTTPResponse) -> bytes | None:
    if response.length is not None and response.length > MAX_RESPONSE_BYTES:
        return None
    body = response.read(MAX_RESPONSE_BYTES + 1)
    if len(body) > MAX_RESPONSE_BYTES:
        return None
    # Reading up to a limit raises nothing if the connection was cut: then the response is incomplete.
    if response.length:
        raise ConnectionError("The connection was closed in the middle of the response.")
    return body
