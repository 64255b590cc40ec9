"""One attempt at one request, and its repetition, for asyncio. This is the only file that uses httpx."""

import asyncio
import ssl
import time
from email.message import Message

import httpx

from gatehouse_client import _arguments as arguments
from gatehouse_client._responses import ApiResponse
from gatehouse_client._failures import explain_failure, too_large
from gatehouse_client._request import ALWAYS_SENT, MAX_RESPONSE_BYTES, Request
from gatehouse_client._retries import Policy, pause_after
from gatehouse_client.errors import GatehouseError

# What httpx raises or passes on: a broken certificate file, an invalid proxy address.
_FAILURES = (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, OSError, ValueError, TypeError, RuntimeError)


class AsyncTransport:
    """Sends requests to one server only: no redirect is followed, no URL of a response is used."""

    __slots__ = ("_client", "base_url", "timeout")

    def __init__(self, base_url: object, timeout: object) -> None:
        self.base_url = arguments.read_origin(base_url)
        self.timeout = arguments.read_timeout(timeout)
        self._client: httpx.AsyncClient | None = None

    async def aclose(self) -> None:
        if self._client is not None:
            await self._client.aclose()

    async def attempt(self, request: Request, timeout: float) -> ApiResponse | GatehouseError:
        """Returns the outcome as a value. Errors are raised where no frame contains a secret."""
        try:
            response = await asyncio.wait_for(self._send(request), timeout)
        except asyncio.TimeoutError:
            return explain_failure(TimeoutError(), timeout)
        except _FAILURES as caught:
            return explain_failure(_system_error(caught), timeout)
        return response if isinstance(response, GatehouseError) or 200 <= response.status < 300 else response.to_error()

    async def _send(self, request: Request) -> ApiResponse | GatehouseError:
        # Not compressed: the limit counts the bytes that arrive.
        headers = ALWAYS_SENT | {"accept-encoding": "identity"} | request.headers
        url = self.base_url + request.path
        async with self._open().stream(request.method, url, headers=headers, content=request.body) as response:
            received = Message()
            for name, value in response.headers.multi_items():
                received[name] = value
            body = bytearray()
            async for chunk in response.aiter_raw():
                body += chunk
                if len(body) > MAX_RESPONSE_BYTES:
                    return too_large(response.status_code, received)
            return ApiResponse(response.status_code, received, bytes(body))

    def _open(self) -> httpx.AsyncClient:
        """Created on first use: if the environment prevents it, the request fails."""
        if self._client is None:
            # Plain http stays on this machine: it must not use a proxy from the environment.
            trust_env = not arguments.is_loopback(self.base_url)
            # Plain http needs no TLS settings, and creating them takes time.
            verify = ssl.create_default_context() if self.base_url.startswith("https:") else False
            self._client = httpx.AsyncClient(
                verify=verify, trust_env=trust_env, timeout=None, follow_redirects=False
            )
        return self._client


async def send_async(transport: AsyncTransport, request: Request, policy: Policy) -> ApiResponse:
    timeout = min(transport.timeout, policy.attempt_timeout)
    began = time.monotonic()
    attempts = 1
    while isinstance(outcome := await transport.attempt(request, timeout), GatehouseError):
        pause = pause_after(outcome, attempts, policy)
        if pause is None or time.monotonic() - began + pause > policy.start_within:
            raise outcome
        await asyncio.sleep(pause)
        # A machine that was suspended meanwhile wakes up much later.
        if time.monotonic() - began > policy.start_within:
            raise outcome
        attempts += 1
    return outcome


def _system_error(caught: Exception) -> Exception:
    """The operating system's error that caused one of httpx, or the error itself."""
    found: BaseException | None = caught
    for _ in range(10):
        if found is None:
            break
        if isinstance(found, OSError):
            return found
        found = found.__cause__ or found.__context__
    return caught
