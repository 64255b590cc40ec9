"""Connections with a deadline.

The standard library restarts its timeout with every byte that arrives, so a slow server could keep a caller waiting
forever. Here one deadline applies to the whole attempt, up to the last byte of the body. It does not apply to the lookup
of the host name, whose timeout is that of the operating system.
"""

import socket
import ssl
from functools import cached_property, partial
from http.client import HTTPConnection, HTTPResponse, HTTPSConnection
from io import BufferedReader, RawIOBase
from time import monotonic
from typing import TYPE_CHECKING, Any, cast
from urllib.request import AbstractHTTPHandler, OpenerDirector, ProxyHandler, Request

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


def new_opener(*, tls: bool, through_proxies: bool) -> OpenerDirector:
    """Without the handlers that follow redirects, open files or raise for a status."""
    opener = OpenerDirector()
    opener.add_handler(ProxyHandler(None if through_proxies else {}))
    opener.add_handler(_TimedTlsHandler() if tls else _TimedHandler())
    return opener


class _TimedHandler(AbstractHTTPHandler):
    """urllib looks for methods with these names."""

    def http_request(self, req: Request) -> Request:
        return self.do_request_(req)

    def http_open(self, req: Request) -> HTTPResponse:
        return self.do_open(_TimedConnection, req)


class _TimedTlsHandler(AbstractHTTPHandler):
    @cached_property
    def _tls(self) -> ssl.SSLContext:
        # Created on first use: if the environment prevents it, the request fails.
        return ssl.create_default_context()

    def https_request(self, req: Request) -> Request:
        return self.do_request_(req)

    def https_open(self, req: Request) -> HTTPResponse:
        return self.do_open(_TimedTlsConnection, req, context=self._tls)


class _Deadline:
    def __init__(self, seconds: float) -> None:
        self._end = monotonic() + seconds

    def remaining(self) -> float:
        left = self._end - monotonic()
        if left <= 0:
            raise TimeoutError("This attempt timed out.")
        return left


class _TimedReader(RawIOBase):
    def __init__(self, raw: RawIOBase, sock: socket.socket, deadline: _Deadline) -> None:
        self._raw = raw
        self._sock = sock
        self._deadline = deadline
        self.in_head = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer", /) -> int | None:
        self._sock.settimeout(self._deadline.remaining())
        count = cast("int | None", cast(Any, self._raw).readinto(buffer))
        if count == 0 and self.in_head:
            raise ConnectionResetError("The connection was closed before a response began.")
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()


class _TimedResponse(HTTPResponse):
    def __init__(self, deadline: _Deadline, sock: socket.socket, *options: Any, **named: Any) -> None:
        super().__init__(sock, *options, **named)
        self._reader = _TimedReader(self.fp.detach(), sock, deadline)
        self.fp = BufferedReader(self._reader)

    def begin(self) -> None:
        # The standard library accepts truncated headers as complete, and a lost response as an empty one.
        self._reader.in_head = True
        super().begin()
        self._reader.in_head = False


class _TimedConnection(HTTPConnection):
    def __init__(self, host: str, *, timeout: float = 30.0, **options: Any) -> None:
        super().__init__(host, timeout=timeout, **options)
        self._deadline = _Deadline(timeout)
        self.response_class = cast("type[HTTPResponse]", partial(_TimedResponse, self._deadline))

    def connect(self) -> None:
        super().connect()
        # A host with several addresses has the timeout for each. A request that would be too late is not sent: a
        # refresh that arrives late would count as a replay.
        self.sock.settimeout(self._deadline.remaining())


class _TimedTlsConnection(_TimedConnection, HTTPSConnection):
    """The order of the bases lets `connect` set the deadline after the handshake too."""
