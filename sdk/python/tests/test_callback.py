import unittest
from urllib.parse import urlencode

from gatehouse_client import GatehouseError
from tests.misbehaving import Misbehaving, reply
from tests.world import get_world


class Callback(unittest.TestCase):
    """The server is never asked: what a stranger's browser brings is refused before."""

    def finish(self, *pairs: tuple[str, str], path: str = "http://127.0.0.1/callback?") -> GatehouseError:
        world = get_world()
        with Misbehaving(reply(500)) as server:
            app = world.app(server.base_url)
            # So that an issuer can be given that is right, though the port is known only here.
            query = urlencode([(name, server.base_url if value == "RIGHT" else value) for name, value in pairs])
            with self.assertRaises(GatehouseError) as caught:
                app.finish_authorization(path + query, state="s1", code_verifier="v" * 43)
            self.assertEqual(server.requests, [])
        return caught.exception

    def test_a_state_that_is_wrong_missing_or_sent_twice_is_refused(self) -> None:
        rest = (("code", "gac_1"), ("iss", "RIGHT"))
        for states in ([("state", "s2")], [], [("state", "")], [("state", "s1"), ("state", "s1")]):
            with self.subTest(states=states):
                self.assertEqual(self.finish(*states, *rest).code, "state_mismatch")

    def test_an_issuer_that_is_wrong_missing_or_sent_twice_is_refused(self) -> None:
        rest = (("code", "gac_1"), ("state", "s1"))
        for issuers in ([("iss", "https://evil.example")], [], [("iss", "RIGHT"), ("iss", "RIGHT")]):
            with self.subTest(issuers=issuers):
                self.assertEqual(self.finish(*issuers, *rest).code, "issuer_mismatch")

    def test_the_state_is_looked_at_first_then_the_issuer_then_the_error(self) -> None:
        error = ("error", "access_denied")
        self.assertEqual(self.finish(error, ("state", "s2"), ("iss", "x")).code, "state_mismatch")
        self.assertEqual(self.finish(error, ("state", "s1"), ("iss", "x")).code, "issuer_mismatch")
        self.assertEqual(self.finish(error, ("state", "s1"), ("iss", "RIGHT"), ("code", "c")).code, "access_denied")

    def test_neither_a_code_nor_an_error_is_an_unreadable_answer(self) -> None:
        sound = (("state", "s1"), ("iss", "RIGHT"))
        for pairs in ([], [("code", "")], [("code", "gac_1"), ("code", "gac_2")]):
            with self.subTest(pairs=pairs):
                self.assertEqual(self.finish(*sound, *pairs).code, "unreadable_answer")

    def test_an_address_without_a_query_is_a_wrong_state_and_no_crash(self) -> None:
        for path in ("", "http://127.0.0.1/callback", "/callback", "?", "#", "%zz&=&&=x"):
            with self.subTest(path=path):
                self.assertEqual(self.finish(path=path).code, "state_mismatch")
