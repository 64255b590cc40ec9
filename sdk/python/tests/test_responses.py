import unittest

from gatehouse_client import Api, App, GatehouseError
from tests.faulty_server import FaultyResponse, FaultyServer, drip, flood, hang_up, reply, stay_silent
from tests.fake_clock import fake_clock

HEAD = b"HTTP/1.1 200 OK\r\nconnection: close\r\n"
LARGE = 4 * 1024 * 1024


class Responses(unittest.TestCase):
    def failure(self, *responses: FaultyResponse, timeout: float = 10.0) -> GatehouseError:
        with FaultyServer(*responses) as server, fake_clock(), self.assertRaises(GatehouseError) as caught:
            Api(base_url=server.base_url, access_token="gat_1", timeout=timeout).businesses()
        return caught.exception

    def test_a_missing_response_is_a_timeout(self) -> None:
        error = self.failure(stay_silent, timeout=0.1)

        self.assertEqual((error.code, error.reason, error.status), ("timeout", "timeout", None))
        self.assertIsInstance(error.__cause__, TimeoutError)

    def test_a_slow_response_is_a_timeout_wherever_it_is_slow(self) -> None:
        """Without a deadline these would never end."""
        drips = {
            "status line": drip(b"HTTP/1.1 200 ", b"O"),
            "headers": drip(HEAD, b"x: y\r\n"),
            "one header": drip(HEAD + b"x: ", b"y"),
            "continue": drip(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
            "body": drip(HEAD + b"content-length: 100000\r\n\r\n", b" "),
            "body without a length": drip(HEAD + b"\r\n", b" "),
            "chunks": drip(HEAD + b"transfer-encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
            "trailers": drip(HEAD + b"transfer-encoding: chunked\r\n\r\n2\r\n[]\r\n0\r\n", b"x: y\r\n"),
        }
        for place, response in drips.items():
            with self.subTest(place=place):
                self.assertEqual(self.failure(response, timeout=0.1).code, "timeout")

    def test_an_unreachable_server_or_a_closed_connection_is_a_network_error_with_its_cause(self) -> None:
        with FaultyServer(hang_up) as server:
            gone = server.base_url
        with fake_clock(), self.assertRaises(GatehouseError) as caught:
            Api(base_url=gone, access_token="gat_1").businesses()

        self.assertEqual((caught.exception.code, caught.exception.status), ("network_error", None))
        self.assertIsInstance(caught.exception.__cause__, ConnectionRefusedError)
        self.assertEqual(self.failure(hang_up).code, "network_error")

    def test_an_incomplete_response_is_a_network_error_and_the_request_is_repeated(self) -> None:
        whole = reply(200, [{"id": "b1", "name": "Acme"}])
        chunked = HEAD + b"transfer-encoding: chunked\r\n\r\nff\r\n[{"
        below_zero = HEAD + b"transfer-encoding: chunked\r\n\r\n2\r\n[]\r\n-5\r\n"
        cut = (whole[:-5], HEAD + b"content-length: 9\r\n\r\n", chunked, HEAD[:30])
        for broken in (*cut, below_zero, b"SSH-2.0-OpenSSH_9\r\n"):
            with self.subTest(broken=broken):
                self.assertEqual(self.failure(broken).code, "network_error")
                with FaultyServer(broken, whole) as server, fake_clock():
                    Api(base_url=server.base_url, access_token="gat_1").businesses()
                    self.assertEqual(len(server.requests), 2)

    def test_a_response_over_four_mebibytes_is_rejected(self) -> None:
        announced = HEAD + f"content-length: {LARGE + 1}\r\nx-request-id: r1\r\n\r\n".encode()
        for response in (announced, flood):
            with self.subTest(response=response):
                error = self.failure(response)
                self.assertEqual((error.code, error.status), ("response_too_large", 200))

    def test_a_response_of_four_mebibytes_is_read(self) -> None:
        with FaultyServer(reply(200, b"[]" + b" " * (LARGE - 2))) as server:
            self.assertEqual(Api(base_url=server.base_url, access_token="gat_1").businesses(), [])

    def test_a_response_that_is_not_our_json_is_invalid_and_keeps_its_status(self) -> None:
        pages = (b"<html>Bad gateway</html>", b"", b"\xff\xfe", b"[" * 200_000, b"NaN", b"1" * 5000, b"[1]", b"null")
        for body in pages:
            for status in (200, 418):
                with self.subTest(body=body[:9], status=status):
                    error = self.failure(reply(status, body, X_Request_Id="r-7"))
                    self.assertEqual((error.code, error.status), ("invalid_response", status))
                    self.assertEqual((error.reason, error.request_id), ("invalid_response", "r-7"))

    def test_an_error_without_a_reason_has_its_code_as_reason(self) -> None:
        error = self.failure(reply(403, {"error": "insufficient_scope", "error_description": "No.", "reason": None}))

        self.assertEqual((error.code, error.reason), ("insufficient_scope", "insufficient_scope"))
        self.assertEqual((str(error), error.uri), ("insufficient_scope: No.", None))

    def test_an_error_of_another_server_is_invalid_and_asks_whether_base_url_is_right(self) -> None:
        for body in (
            {"statusCode": 404, "error": "Not Found", "message": "Route GET:/ not found"},
            {"error": "Not Found", "error_description": "Route GET:/ not found"},
            {"error": "not_found"},
            {"error": "not_found", "error_description": None},
            {"error": "not_found", "error_description": ["No."]},
            {"error": "not_found\n", "error_description": "No."},
            {"error": {"code": 404}, "error_description": "No."},
            {"error_description": "No."},
        ):
            with self.subTest(body=body):
                error = self.failure(reply(404, body, X_Request_Id="r-7"))
                self.assertEqual((error.code, error.reason), ("invalid_response", "invalid_response"))
                self.assertEqual((error.status, error.request_id, error.uri), (404, "r-7", None))
                self.assertIn("is base_url right?", str(error))
                self.assertNotIn("Route", str(error))

    def test_texts_of_an_error_are_on_one_line_and_bounded(self) -> None:
        break_in = "x\r\nINFO all is well\x1b[2J\x85\u2028\ud800"
        body = {"error": "invalid_request", "error_description": break_in, "reason": break_in, "error_uri": break_in}
        error = self.failure(reply(400, body, X_Request_Id="r\r\n folded"))

        for text in (error.description, error.reason, error.uri):
            self.assertEqual(text, "x INFO all is well [2J ")
        self.assertEqual(error.request_id, "r  folded")
        self.assertTrue((str(error) + repr(error)).isprintable())

        long = {name: "a" * 9000 for name in ("error", "error_description", "reason", "error_uri")}
        error = self.failure(reply(400, long, X_Request_Id="r" * 9000))
        texts = (error.code, error.description, error.reason, error.request_id, error.uri)
        self.assertEqual([len(text or "") for text in texts], [500, 500, 500, 500, 2000])

    def test_a_redirect_is_never_followed(self) -> None:
        with FaultyServer(reply(200, [])) as elsewhere:
            for status in (301, 302, 303, 307, 308):
                with self.subTest(status=status):
                    error = self.failure(reply(status, b"", Location=f"{elsewhere.base_url}/steal"))
                    self.assertEqual((error.code, error.status), ("invalid_response", status))
                    self.assertIn("redirect", str(error))
            self.assertEqual(elsewhere.requests, [])

    def test_invalid_tokens_are_invalid(self) -> None:
        good = {"access_token": "a", "token_type": "bearer", "expires_in": 3600, "refresh_token": "r", "scope": ""}
        for changes in (
            {"access_token": ""},
            {"access_token": "with space"},
            {"refresh_token": None},
            {"refresh_token": "naïve"},
            {"expires_in": "3600"},
            {"expires_in": True},
            {"expires_in": 10**400},
            {"scope": ["a"]},
        ):
            with self.subTest(changes=changes), FaultyServer(reply(200, good | changes)) as server:
                app = App(base_url=server.base_url, client_id="c", client_secret="s", redirect_uri="http://127.0.0.1/")
                with self.assertRaises(GatehouseError) as caught:
                    app.refresh("grt_1")
                self.assertEqual((caught.exception.code, caught.exception.status), ("invalid_response", 200))

    def test_a_request_is_json_with_the_credentials_in_its_body_and_names_the_library(self) -> None:
        with FaultyServer(reply(200, {"active": False})) as server:
            app = App(base_url=server.base_url, client_id="c", client_secret="s", redirect_uri="http://127.0.0.1/")
            app.introspect("gat_1")
            head, _, body = server.requests[0].partition(b"\r\n\r\n")

        lines = head.lower().split(b"\r\n")
        self.assertEqual(lines[0], b"post /api/v1/oauth/introspect http/1.1")
        self.assertIn(b"content-type: application/json", lines)
        self.assertTrue(any(line.startswith(b"user-agent: gatehouse-client-python/") for line in lines))
        self.assertFalse(any(line.startswith((b"authorization:", b"cookie:")) for line in lines))
        self.assertEqual(body, b'{"token": "gat_1", "client_id": "c", "client_secret": "s"}')
