import importlib.util
import json
import re
import unittest
from typing import Any
from uuid import uuid4

from gatehouse_client import Api
from tests.connected import ConnectedCase, ended
from tests.gatehouse import get_gatehouse
from tests.faulty_server import FaultyServer, reply
from tests.relay import TOKEN

INVOICES = "/api/v1/accounting/invoices"
HAS_HTTPX = importlib.util.find_spec("httpx") is not None


class OwnRequests(ConnectedCase):
    def test_a_request_to_any_path_refreshes_the_tokens_before_they_expire(self) -> None:
        api = self.api(ended(self.gatehouse.connect()))

        response = api.request(INVOICES, business_id=self.gatehouse.business_id, query={"limit": 1, "status": None})

        self.assertEqual(response.status, 200)
        self.assertIsInstance(response.json(), list)
        self.assertIn("x-request-id", response.headers)
        self.assertEqual([path.partition("?")[0] for path in self.relay.paths], [TOKEN, INVOICES])

    def test_a_request_to_any_path_is_repeated_once_if_its_token_was_revoked(self) -> None:
        tokens = self.gatehouse.connect()
        self.app.revoke(tokens.access_token)
        api = self.api(tokens)
        self.relay.paths.clear()

        api.request("/api/v1/me")

        self.assertEqual(self.relay.paths, ["/api/v1/me", TOKEN, "/api/v1/me"])

    def test_a_rejected_request_to_any_path_is_an_error(self) -> None:
        api = self.api(self.gatehouse.connect())

        failure = self.failure_of(lambda: api.request("/api/v1/nowhere"))

        self.assertEqual((failure.status, failure.code), (404, "not_found"))

    def test_an_access_token_for_requests_of_your_own_is_refreshed_before_it_expires(self) -> None:
        api = self.api(ended(self.gatehouse.connect()))

        first, second = api.get_access_token(), api.get_access_token()

        self.assertEqual([first, second], [self.saved[0].access_token, first])
        self.assertEqual(self.relay.paths, [TOKEN])
        self.assertEqual(Api(base_url=self.gatehouse.base_url, access_token="gat_1").get_access_token(), "gat_1")


class Writes(unittest.TestCase):
    def test_a_write_to_any_path_is_repeated_after_a_failure_with_the_same_idempotency_key(self) -> None:
        business_id = str(uuid4())
        with FaultyServer(reply(503, {}, Retry_After="0"), reply(200, {"id": "1"})) as server:
            response = Api(base_url=server.base_url, access_token="gat_1").request(
                "/api/v1/crm/contacts?x=1",
                method="POST",
                business_id=business_id,
                query={"dry": True},
                body={"jobTitle": "Buyer"},
                if_match='"1"',
            )

        first, second = (request.decode().partition("\r\n\r\n") for request in server.requests)
        self.assertEqual(response.json(), {"id": "1"})
        self.assertTrue(first[0].startswith("POST /api/v1/crm/contacts?x=1&dry=true "), first[0])
        self.assertEqual(json.loads(first[2]), {"jobTitle": "Buyer"})
        for header in (f"x-business-id: {business_id}", 'if-match: "1"'):
            self.assertIn(header, first[0].lower())
        key = re.search(r"idempotency-key: [0-9a-f-]{36}", first[0], re.IGNORECASE)
        assert key is not None
        self.assertIn(key[0], second[0])

    def test_a_wrong_path_or_method_is_rejected_before_anything_is_sent(self) -> None:
        api = Api(base_url="http://127.0.0.1:1", access_token="gat_1")
        wrong: Any = "FETCH"
        with self.assertRaises(ValueError):
            api.request("/api/v1/me", method=wrong)
        for path in ("api/v1/me", "https://evil.example/", "@evil.example/", "/a b", "/a#b", ""):
            with self.subTest(path), self.assertRaises(ValueError):
                api.request(path)


@unittest.skipUnless(HAS_HTTPX, "it needs httpx")
class AsyncOwnRequests(unittest.IsolatedAsyncioTestCase):
    async def test_the_asynchronous_client_sends_any_request_and_returns_a_token(self) -> None:
        from gatehouse_client import AsyncApi

        with FaultyServer(reply(200, {"id": "1"})) as server:
            async with AsyncApi(base_url=server.base_url, access_token="gat_1") as api:
                response = await api.request("/api/v1/me", query={"x": "y"})
                token = await api.get_access_token()

        self.assertEqual((response.json(), token), ({"id": "1"}, "gat_1"))
        self.assertTrue(server.requests[0].startswith(b"GET /api/v1/me?x=y "))


class PagesHost(unittest.TestCase):
    def test_if_base_url_is_the_address_of_the_pages_the_error_names_the_address_of_the_api(self) -> None:
        gatehouse = get_gatehouse()
        with self.assertRaisesRegex(Exception, f"The API is at {re.escape(gatehouse.base_url)}:"):
            Api(base_url=gatehouse.pages_url, access_token="gat_1").me()
