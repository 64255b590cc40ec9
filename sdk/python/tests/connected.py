"""A base class for tests of token handling: an app that reaches the real server through a relay."""

import dataclasses
import unittest
from collections.abc import Callable

from gatehouse_client import Api, GatehouseError, Tokens
from tests.relay import Relay
from tests.gatehouse import get_gatehouse
from tests.times import EPOCH

BUSINESSES = "/api/v1/businesses"


class ConnectedCase(unittest.TestCase):
    def setUp(self) -> None:
        self.gatehouse = get_gatehouse()
        self.saved: list[Tokens] = []
        self.relay = Relay(self.gatehouse.base_url)
        self.relay.__enter__()
        self.addCleanup(self.relay.__exit__)
        self.app = self.gatehouse.app(self.relay.base_url)

    def api(self, tokens: Tokens) -> Api:
        return self.app.api(tokens=tokens, save=self.saved.append)

    def failure_of(self, call: Callable[[], object]) -> GatehouseError:
        with self.assertRaises(GatehouseError) as caught:
            call()
        return caught.exception


def ended(tokens: Tokens) -> Tokens:
    return dataclasses.replace(tokens, expires_at=EPOCH)
