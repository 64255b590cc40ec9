"""One attempt at one request."""

from dataclasses import dataclass, field
from http.client import HTTPException, HTTPResponse
from typing import cast
from urllib.error import URLError
from urllib.request import Request as WireRequest

from gatehouse_client import _arguments as arguments
from gatehouse_client._answers import Answer
from gatehouse_client._connections import new_opener
from gatehouse_client._version import VERSION
from gatehouse_client.errors import GatehouseError

_LARGEST_ANSWER = 4 * 1024 * 1024
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
_ALWAYS_SENT = {"accept": "application/json", "user-agent": f"gatehouse-client-python/{VERSION}"}


@dataclass(frozen=True, slots=True)
class Request:
    """Only its method and path show: the rest holds secrets."""

    method: str
    path: str
    headers: dict[str, str] = field(repr=False)
    body: bytes | None = field(default=None, repr=False)


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
            return _explain_failure(caught, timeout)
        return answer if isinstance(answer, GatehouseError) or 200 <= answer.status < 300 else answer.refusal()

    def _send(self, request: Request, timeout: float) -> Answer | GatehouseError:
        wire = WireRequest(
            self.base_url + request.path,
            data=request.body,
            headers=_ALWAYS_SENT | request.headers,
            method=request.method,
        )
        with cast(HTTPResponse, self._opener.open(wire, timeout=timeout)) as response:
            body = _read_bounded(response)
            if body is None:
                description = f"The answer is over {_LARGEST_ANSWER} bytes, and was not read further."
                request_id = response.headers.get("x-request-id")
                return GatehouseError("answer_too_large", description, status=response.status, request_id=request_id)
            return Answer(response.status, response.headers, body)


def _read_bounded(response: HTTPResponse) -> bytes | None:
    if response.length is not None and response.length > _LARGEST_ANSWER:
        return None
    body = response.read(_LARGEST_ANSWER + 1)
    if len(body) > _LARGEST_ANSWER:
        return None
    # Reading up to a limit ends without complaint where the connection was cut: then this answer was lost.
    if response.length:
        raise ConnectionError("The connection was closed in the middle of the answer.")
    return body


def _explain_failure(caught: Exception, timeout: float) -> GatehouseError:
    cause = caught.reason if isinstance(caught, URLError) and isinstance(caught.reason, OSError) else caught
    if isinstance(cause, TimeoutError):
        error = GatehouseError("timeout", f"No whole answer came within {timeout:g} seconds.")
    elif isinstance(cause, OSError) and not isinstance(cause, HTTPException):
        error = GatehouseError("network_error", f"No answer came: {cause}.")
    else:
        # It may hold a part of the answer, or a proxy's password, so neither its text nor itself goes further.
        troubles = f"The answer is broken off or not HTTP, or a proxy's address is wrong ({type(cause).__name__})."
        return GatehouseError("network_error", troubles)
    error.__cause__ = _stripped(cause)
    return error


def _stripped(cause: OSError) -> OSError:
    """Its traceback leads through frames that hold the request, and error reporters record what is in frames."""
    cause.__traceback__ = cause.__context__ = cause.__cause__ = None
    return cause
