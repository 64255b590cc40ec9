"""A proxy to the real server that records requests and can drop responses."""

import http.client
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOKEN = "/api/v1/oauth/token"


class _Server(ThreadingHTTPServer):
    # A hundred callers connect at once.
    request_queue_size = 200
    daemon_threads = True


class Relay:
    def __init__(self, target: str) -> None:
        self._target = target.removeprefix("http://")
        self._lock = threading.Lock()
        self._losses: list[str] = []
        self.paths: list[str] = []
        self.bearers: list[str] = []
        self.lost: list[bytes] = []
        self.before: Callable[[str], None] = lambda path: None
        relay = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                relay.pass_on(self)

            do_POST = do_GET

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = _Server(("127.0.0.1", 0), Handler)
        self.base_url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> "Relay":
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def count(self, path: str) -> int:
        return self.paths.count(path)

    def lose_next(self, path: str) -> None:
        """The server handles the request, but its response is dropped."""
        self._losses.append(path)

    def pass_on(self, handler: BaseHTTPRequestHandler) -> None:
        path = handler.path.partition("?")[0]
        with self._lock:
            self.paths.append(path)
            self.bearers.append(handler.headers.get("authorization", "").removeprefix("Bearer "))
        self.before(path)
        status, headers, body = self._forward(handler)
        with self._lock:
            if path in self._losses:
                self._losses.remove(path)
                self.lost.append(body)
                return
        handler.send_response(status)
        for name, value in headers:
            if name.lower() not in ("connection", "transfer-encoding", "keep-alive", "date"):
                handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body)

    def _forward(self, handler: BaseHTTPRequestHandler) -> tuple[int, list[tuple[str, str]], bytes]:
        body = handler.rfile.read(int(handler.headers.get("content-length", "0")))
        headers = {name: value for name, value in handler.headers.items() if name.lower() not in ("host", "connection")}
        connection = http.client.HTTPConnection(self._target, timeout=30)
        try:
            connection.request(handler.command, handler.path, body or None, headers)
            response = connection.getresponse()
            return response.status, response.getheaders(), response.read()
        finally:
            connection.close()
