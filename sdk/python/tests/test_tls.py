import asyncio
import importlib.util
import os
import shutil
import socket
import ssl
import subprocess
import tempfile
import threading
import unittest
from pathlib import Path
from unittest.mock import patch

from gatehouse_client import Api, GatehouseError
from tests.faulty_server import FaultyServer, drip, reply
from tests.fake_clock import fake_clock
from tests.gatehouse import get_gatehouse

HAS_HTTPX = importlib.util.find_spec("httpx") is not None
GOOD = reply(200, [{"id": "b1", "name": "Acme"}])
NAMES = "subjectAltName=DNS:localhost,DNS:gatehouse.test"


@unittest.skipUnless(shutil.which("openssl"), "it needs openssl to make a certificate")
class Tls(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        folder = Path(tempfile.mkdtemp(prefix="gatehouse-test-"))
        cls.addClassCleanup(shutil.rmtree, folder)
        cls.certificate, key = str(folder / "certificate.pem"), str(folder / "key.pem")
        subject = ["-subj", "/CN=localhost", "-addext", NAMES]
        command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        files = ["-days", "2", "-keyout", key, "-out", cls.certificate]
        subprocess.run([*command, *subject, *files], check=True, capture_output=True)
        cls.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        cls.tls.load_cert_chain(cls.certificate, key)

    def api(self, host: str, server: FaultyServer, timeout: float = 10.0) -> Api:
        return Api(base_url=f"https://{host}:{server.port}", access_token="gat_secret", timeout=timeout)

    def test_a_certificate_that_the_machine_trusts_is_enough(self) -> None:
        with FaultyServer(GOOD, tls=self.tls) as server, patch.dict(os.environ, SSL_CERT_FILE=self.certificate):
            self.assertEqual(self.api("localhost", server).businesses()[0].name, "Acme")

    def test_nothing_is_sent_to_a_server_with_an_untrusted_certificate(self) -> None:
        for host, trusted in (("localhost", ""), ("127.0.0.1", self.certificate)):
            with FaultyServer(GOOD, tls=self.tls) as server, fake_clock(), self.subTest(host=host):
                with patch.dict(os.environ, SSL_CERT_FILE=trusted), self.assertRaises(GatehouseError) as caught:
                    self.api(host, server).businesses()
                self.assertEqual(server.requests, [])
            self.assertEqual(caught.exception.code, "network_error")
            self.assertIsInstance(caught.exception.__cause__, ssl.SSLCertVerificationError)

    @unittest.skipUnless(HAS_HTTPX, "httpx is not installed")
    def test_the_asynchronous_library_trusts_the_same_certificates(self) -> None:
        async def name_of_business(host: str, server: FaultyServer) -> str:
            from gatehouse_client import AsyncApi

            async with AsyncApi(base_url=f"https://{host}:{server.port}", access_token="gat_secret") as api:
                return (await api.businesses())[0].name

        with FaultyServer(GOOD, tls=self.tls) as server, patch.dict(os.environ, SSL_CERT_FILE=self.certificate):
            self.assertEqual(asyncio.run(name_of_business("localhost", server)), "Acme")

        for host, trusted in (("localhost", ""), ("127.0.0.1", self.certificate)):
            with FaultyServer(GOOD, tls=self.tls) as server, self.subTest(host=host):
                with patch.dict(os.environ, SSL_CERT_FILE=trusted), self.assertRaises(GatehouseError) as caught:
                    asyncio.run(name_of_business(host, server))
                self.assertEqual(server.requests, [])
            self.assertEqual(caught.exception.code, "network_error")
            self.assertIsInstance(caught.exception.__cause__, ssl.SSLCertVerificationError)

    def test_a_slow_response_over_tls_is_a_timeout(self) -> None:
        dripping = drip(b"HTTP/1.1 200 OK\r\n\r\n", b" ")
        with FaultyServer(dripping, tls=self.tls) as server, patch.dict(os.environ, SSL_CERT_FILE=self.certificate):
            with fake_clock(), self.assertRaises(GatehouseError) as caught:
                self.api("localhost", server, timeout=0.3).businesses()
        self.assertEqual(caught.exception.code, "timeout")

    def test_a_proxy_from_the_environment_tunnels_tls_and_cannot_read_it(self) -> None:
        with FaultyServer(GOOD, tls=self.tls) as server:

            def tunnel(near: socket.socket, ended: threading.Event) -> None:
                near.sendall(b"HTTP/1.1 200 Connected\r\n\r\n")
                with socket.create_connection(("127.0.0.1", server.port)) as far:
                    back = threading.Thread(target=pump, args=(far, near), daemon=True)
                    back.start()
                    pump(near, far)
                    back.join()

            with FaultyServer(tunnel) as proxy:
                settings = {"SSL_CERT_FILE": self.certificate, "https_proxy": proxy.base_url, "no_proxy": ""}
                with patch.dict(os.environ, settings):
                    self.assertEqual(self.api("gatehouse.test", server).businesses()[0].name, "Acme")
                [request] = proxy.requests
        self.assertTrue(request.startswith(f"CONNECT gatehouse.test:{server.port} ".encode()))
        self.assertNotIn(b"gat_secret", request)

    def test_a_slow_proxy_is_a_timeout(self) -> None:
        with FaultyServer(drip(b"HTTP/1.1 200 Connected\r\n", b"x: y\r\n")) as proxy:
            with patch.dict(os.environ, {"https_proxy": proxy.base_url, "no_proxy": ""}), fake_clock():
                with self.assertRaises(GatehouseError) as caught:
                    Api(base_url="https://gatehouse.test", access_token="gat_1", timeout=0.3).businesses()
        self.assertEqual(caught.exception.code, "timeout")


class Loopback(unittest.TestCase):
    def test_requests_to_loopback_use_no_proxy(self) -> None:
        gatehouse = get_gatehouse()
        with FaultyServer(reply(500)) as proxy:
            with patch.dict(os.environ, {"http_proxy": proxy.base_url, "no_proxy": ""}):
                gatehouse.app().introspect("gat_1")
            self.assertEqual(proxy.requests, [])


def pump(source: socket.socket, sink: socket.socket) -> None:
    while received := source.recv(65536):
        sink.sendall(received)
    sink.shutdown(socket.SHUT_WR)
