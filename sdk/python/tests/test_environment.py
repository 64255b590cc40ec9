"""A wrong environment is an error like any other, and reveals nothing."""

import os
import unittest
from unittest.mock import patch

from gatehouse_client import App, GatehouseError, Tokens
from tests.reported import chain, library_frames
from tests.fake_clock import fake_clock
from tests.times import EPOCH

TOKENS = Tokens(access_token="gat_held", refresh_token="grt_held", expires_at=EPOCH, scopes=())


class Environment(unittest.TestCase):
    def failure(self, **settings: str) -> GatehouseError:
        with patch.dict(os.environ, {"no_proxy": ""} | settings), fake_clock():
            with self.assertRaises(GatehouseError) as caught:
                App(
                    base_url="https://gatehouse.test",
                    client_id="c1",
                    client_secret="gcs_secret",
                    redirect_uri="http://127.0.0.1:8080/callback",
                    timeout=2,
                ).api(tokens=TOKENS, save=print).businesses()
        return caught.exception

    def test_an_invalid_proxy_address_is_a_network_error_without_its_password(self) -> None:
        for proxy in (
            "http:/user:hunter2@proxy:1",
            "http://user:hunter2/x@127.0.0.1:1",
            "http://user:hunter2@127.0.0.1:99999999",
            "http://user:hunter2@127.0.0.1:port",
            "http://user:hunter2@" + "a" * 70 + ".test:1",
            "http://us\udcffer:hunter2@127.0.0.1:1",
        ):
            with self.subTest(proxy=proxy):
                error = self.failure(https_proxy=proxy)

                self.assertEqual((error.code, error.status), ("network_error", None))
                for found in chain(error):
                    told = f"{found!r} {vars(found)} {[frame.f_locals for frame in library_frames(found)]}"
                    for secret in ("hunter2", "gcs_secret", "grt_held"):
                        self.assertNotIn(secret, told)

    def test_a_key_log_that_cannot_be_written_is_a_network_error(self) -> None:
        error = self.failure(SSLKEYLOGFILE="/nowhere/at/all/keys", https_proxy="http://127.0.0.1:1")

        self.assertEqual(error.code, "network_error")
