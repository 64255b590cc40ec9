"""A server that sends faulty responses."""

import json
import socket
import ssl
import threading
from collections.abc import Callable

FaultyResponse = bytes | Callable[[socket.socket, threading.Event], None]


class FaultyServer:
    """Sends each response to one connection, and the last one to all that follow."""

    def __init__(self, *responses: FaultyResponse, tls: ssl.SSLContext | None = None) -> None:
        self._responses = list(responses)
        self._tls = tls
        self._ended = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=50)
        self.port: int = self._listener.getsockname()[1]
        self.base_url = f"http://127.0.0.1:{self.port}"
        self.requests: list[bytes] = []

    def __enter__(self) -> "FaultyServer":
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._ended.set()
        # Closing alone does not wake the thread that waits for a connection.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                near = self._listener.accept()[0]
            except OSError:
                return
            threading.Thread(target=self._serve, args=(near,), daemon=True).start()

    def _serve(self, near: socket.socket) -> None:
        with near:
            try:
                wire = self._tls.wrap_socket(near, server_side=True) if self._tls else near
                with wire:
                    self._send(wire)
            except OSError:
                pass

    def _send(self, near: socket.socket) -> None:
        self.requests.append(_read_request(near))
        response = self._responses.pop(0) if len(self._responses) > 1 else self._responses[0]
        if callable(response):
            response(near, self._ended)
        else:
            near.sendall(response)


def reply(status: int, body: object = None, **headers: str) -> bytes:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return _head(status, f"content-length: {len(content)}", *lines) + content


def hang_up(near: socket.socket, ended: threading.Event) -> None:
    """Never responds."""


def stay_silent(near: socket.socket, ended: threading.Event) -> None:
    ended.wait()


def drip(first: bytes, drop: bytes) -> FaultyResponse:
    """Slowly, but without a long pause between two bytes."""

    def send_slowly(near: socket.socket, ended: threading.Event) -> None:
        near.sendall(first)
        while not ended.wait(0.02):
            near.sendall(drop)

    return send_slowly


def flood(near: socket.socket, ended: threading.Event) -> None:
    """A body without a length that never ends."""
    near.sendall(_head(200, "transfer-encoding: chunked"))
    while not ended.is_set():
        near.sendall(b"10000\r\n" + b" " * 0x10000 + b"\r\n")


def _head(status: int, *lines: str) -> bytes:
    return "\r\n".join([f"HTTP/1.1 {status} Whatever", "connection: close", *lines, "", ""]).encode()


def _read_request(near: socket.socket) -> bytes:
    received = b""
    while b"\r\n\r\n" not in received:
        received += near.recv(65536) or b"\r\n\r\n"
    head, _, body = received.partition(b"\r\n\r\n")
    length = next((int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), 0)
    while len(body) < length:
        body += near.recv(65536)
    return head + b"\r\n\r\n" + body
