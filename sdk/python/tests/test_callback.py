import unittest
from urllib.parse import urlencode

from gatehouse_client import GatehouseError
from tests.faulty_server import FaultyServer, reply
from tests.gatehouse import get_gatehouse

STATE = ("state", "s1")
# The right one: the port of the server is known only while it runs.
ISSUER = ("iss", "HERE")


class Callback(unittest.TestCase):
    """A forged callback is rejected without a request to the server."""

    def finish(self, *pairs: tuple[str, str], path: str = "http://127.0.0.1/callback?") -> GatehouseError:
        gatehouse = get_gatehouse()
        with FaultyServer(reply(500)) as server:
            app = gatehouse.app(server.base_url)
            query = urlencode([(name, value.replace("HERE", server.base_url)) for name, value in pairs])
            with self.assertRaises(GatehouseError) as caught:
                app.finish_authorization(path + query, state="s1", code_verifier="v" * 43)
            self.assertEqual(server.requests, [])
            self.here = server.base_url
        return caught.exception

    def test_a_wrong_or_missing_state_is_rejected(self) -> None:
        for states in ([("state", "s2")], [], [("state", "")]):
            with self.subTest(states=states):
                self.assertEqual(self.finish(*states, ("code", "gac_1"), ISSUER).code, "state_mismatch")

    def test_a_wrong_or_missing_issuer_is_rejected_and_both_are_named(self) -> None:
        cases = (
            ([("iss", "https://evil.example")], "https://evil.example"),
            ([("iss", "https://evil.example\r\nINFO")], "https://evil.example INFO"),
            ([("iss", "HERE/")], "HERE/"),
            ([("iss", "e" * 900)], "e" * 200),
        )
        for issuers, named in cases:
            with self.subTest(issuers=issuers):
                error = self.finish(*issuers, ("code", "gac_1"), STATE)
                self.assertEqual(error.code, "issuer_mismatch")
                self.assertIn(f" {named.replace('HERE', self.here)} ", str(error))
                self.assertIn(self.here, str(error).replace(f"{self.here}/", ""))
                self.assertNotIn("e" * 201, str(error))
        for issuers in ([], [("iss", "")]):
            with self.subTest(issuers=issuers):
                error = self.finish(*issuers, ("code", "gac_1"), STATE)
                self.assertEqual(error.code, "issuer_mismatch")
                self.assertIn("names no issuer", str(error))
                self.assertIn(self.here, str(error))

    def test_the_state_is_checked_first_then_the_issuer_then_the_error(self) -> None:
        error = ("error", "access_denied")
        self.assertEqual(self.finish(error, ("state", "s2"), ("iss", "x")).code, "state_mismatch")
        self.assertEqual(self.finish(error, STATE, ("iss", "x")).code, "issuer_mismatch")
        self.assertEqual(self.finish(error, STATE, ISSUER, ("code", "c")).code, "access_denied")

    def test_a_repeated_parameter_is_rejected(self) -> None:
        sound = {"code": "gac_1", "state": "s1", "iss": "HERE"}
        for name in ("code", "state", "iss", "error", "error_description", "error_uri"):
            for twice in (("x", "x"), (sound.get(name, "x"),) * 2, ("", "x"), ("", "")):
                with self.subTest(name=name, twice=twice):
                    rest = [(key, value) for key, value in sound.items() if key != name]
                    self.assertEqual(
                        self.finish(*rest, *((name, value) for value in twice)).code, "invalid_response"
                    )
        # An address that an app registers may have a query of its own.
        self.assertEqual(self.finish(("a", "1"), ("a", "2"), ("error", "x"), STATE, ISSUER).code, "x")

    def test_an_error_has_its_reason_and_uri_if_they_were_sent(self) -> None:
        denied, page = ("error", "access_denied"), "https://api.example.com/docs/errors/access_denied#denied_by_user"
        told = self.finish(denied, ("reason", "denied_by_user"), ("error_uri", page), STATE, ISSUER)
        bare = self.finish(denied, STATE, ISSUER)

        self.assertEqual((told.code, told.reason, told.uri), ("access_denied", "denied_by_user", page))
        self.assertEqual((bare.code, bare.reason, bare.uri), ("access_denied", "access_denied", None))

    def test_the_description_of_an_error_is_on_one_line_and_bounded(self) -> None:
        said = [(name, "x\r\nINFO" + "y" * 9000) for name in ("error", "error_description", "error_uri")]
        error = self.finish(*said, STATE, ISSUER)

        self.assertTrue((str(error) + repr(error) + (error.uri or "")).isprintable())
        self.assertTrue(error.code.startswith("x INFOy"))
        texts = (error.code, error.reason, error.description, error.uri)
        self.assertEqual([len(text or "") for text in texts], [500, 500, 500, 2000])

    def test_a_callback_without_code_and_error_is_invalid(self) -> None:
        for pairs in ([], [("code", "")]):
            with self.subTest(pairs=pairs):
                self.assertEqual(self.finish(STATE, ISSUER, *pairs).code, "invalid_response")

    def test_a_callback_without_a_query_is_a_wrong_state(self) -> None:
        for path in ("", "http://127.0.0.1/callback", "/callback", "?", "#", "%zz&=&&=x"):
            with self.subTest(path=path):
                self.assertEqual(self.finish(path=path).code, "state_mismatch")
