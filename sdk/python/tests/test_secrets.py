"""Neither printed objects nor errors, with their frames, contain a secret."""

import dataclasses
import json
import pickle
import pprint
import unittest
from collections.abc import Callable
from datetime import datetime, timedelta, timezone

from gatehouse_client import Api, App, GatehouseError, Tokens
from tests.faulty_server import FaultyResponse, FaultyServer, drip, hang_up, reply
from tests.reported import chain, library_frames
from tests.fake_clock import fake_clock
from tests.times import EPOCH

SECRETS = ("gcs_secret", "gat_held", "grt_held", "gat_new", "grt_new", "gac_code", "verifier-" + "v" * 43)
TOKENS = Tokens(access_token="gat_held", refresh_token="grt_held", expires_at=EPOCH, scopes=("read:invoices",))
TOKEN_RESPONSE = {"access_token": "gat_new", "refresh_token": "grt_new", "expires_in": 3600, "scope": "read:invoices"}
CUT = reply(200, TOKEN_RESPONSE)[:-3]
WHOLE = json.dumps(TOKEN_RESPONSE).encode()
CHUNKED = b"HTTP/1.1 200 OK\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n"

# Most of them repeat something secret, as a broken server, or one in between, might.
FAULTS: tuple[FaultyResponse, ...] = (
    CUT,
    b"gat_new grt_new\r\n\r\n",
    CHUNKED + b"%x\r\n%s\r\n-5\r\n" % (len(WHOLE), WHOLE),
    CHUNKED + b"%x\r\n%s\r\ngrt_new\r\n" % (len(WHOLE), WHOLE),
    reply(200, WHOLE[:-1]),
    reply(200, TOKEN_RESPONSE | {"access_token": "gat_new gat_new"}),
    reply(200, TOKEN_RESPONSE | {"scope": None}),
    reply(200, TOKEN_RESPONSE | {"refresh_token": ["grt_new"]}),
    reply(200, [["gat_new"]]),
    reply(500, b"<p>grt_held gcs_secret gat_held</p>"),
    drip(CUT, b""),
    hang_up,
    reply(400, {"error": "invalid_grant", "error_description": "No."}),
    reply(503, TOKEN_RESPONSE, Retry_After="Mon, 01 Jan 99999999999999999999 00:00:00 GMT"),
)


class Secrets(unittest.TestCase):
    def assert_bare(self, *texts: str) -> None:
        for text in texts:
            for secret in SECRETS:
                self.assertNotIn(secret, text)

    def app(self, base_url: str) -> App:
        return App(
            base_url=base_url,
            client_id="c1",
            client_secret="gcs_secret",
            redirect_uri="http://127.0.0.1/callback",
            timeout=0.1,
        )

    def test_no_printed_object_shows_a_secret(self) -> None:
        app = self.app("http://127.0.0.1:1")
        for thing in (
            app,
            app.api(tokens=TOKENS, save=print),
            Api(base_url="http://127.0.0.1:1", access_token="gat_held"),
            TOKENS,
            dataclasses.replace(app.begin_authorization(scopes=["read:invoices"]), code_verifier=SECRETS[-1]),
        ):
            self.assert_bare(repr(thing), str(thing), f"{thing}", pprint.pformat(thing))
        self.assertEqual(repr(app), "App(base_url='http://127.0.0.1:1', client_id='c1')")
        self.assertEqual(repr(TOKENS), f"Tokens(expires_at={EPOCH!r}, scopes=('read:invoices',))")

    def test_no_error_or_cause_contains_a_secret(self) -> None:
        calls: dict[str, Callable[[App], object]] = {
            "refreshing": lambda app: app.api(tokens=TOKENS, save=print).businesses(),
            "exchange": lambda app: app.finish_authorization(
                f"code=gac_code&state=s&iss={app_origin(app)}", state="s", code_verifier=SECRETS[-1]
            ),
            "refresh": lambda app: app.refresh("grt_held"),
            "revoke": lambda app: app.revoke("grt_held"),
            "introspect": lambda app: app.introspect("gat_held"),
            "api": lambda app: Api(base_url=app_origin(app), access_token="gat_held", timeout=0.1).businesses(),
        }
        for name, call in calls.items():
            for number, fault in enumerate(FAULTS):
                with self.subTest(call=name, fault=number):
                    self.look_for_secrets(call, fault, arguments_count=name in ("refreshing", "api"))

    def look_for_secrets(self, call: Callable[[App], object], fault: FaultyResponse, arguments_count: bool) -> None:
        with FaultyServer(fault) as server, fake_clock():
            try:
                call(self.app(server.base_url))
            except GatehouseError as caught:
                for error in chain(caught):
                    self.assert_bare(str(error), repr(error), repr(error.args), repr(vars(error)))
                    for frame in library_frames(error):
                        seen = dict(frame.f_locals)
                        # The arguments are in the caller's own frame, too. The library must not reveal any other secret.
                        if not arguments_count:
                            for argument in ("refresh_token", "token", "callback_url", "code_verifier"):
                                seen.pop(argument, None)
                        self.assert_bare(repr(seen))

    def test_an_error_can_be_pickled(self) -> None:
        error = GatehouseError("a", "b", status=400, reason="c", uri="d", request_id="e", retry_after=1.0)

        again = pickle.loads(pickle.dumps(error))

        self.assertEqual((str(again), vars(again)), (str(error), vars(error)))
        self.assertEqual(str(again), "a: b (request e)")

    def test_tokens_survive_json_and_pickle(self) -> None:
        tokens = dataclasses.replace(TOKENS, expires_at=EPOCH + timedelta(microseconds=1_893_456_000_123_456))

        self.assertEqual(tokens.to_dict()["expires_at"], "2030-01-01T00:00:00.123456Z")
        self.assertEqual(Tokens.from_dict(json.loads(json.dumps(tokens.to_dict()))), tokens)
        self.assertEqual(Tokens.from_dict(tokens.to_dict() | {"added_later": 1}), tokens)
        self.assertEqual(pickle.loads(pickle.dumps(tokens)), tokens)

    def test_tokens_with_a_number_as_0_1_0_stored_them_are_read(self) -> None:
        stored = TOKENS.to_dict() | {"expires_at": 1893456000.5}

        tokens = Tokens.from_dict(stored)

        self.assertEqual(tokens.expires_at, datetime(2030, 1, 1, microsecond=500_000, tzinfo=timezone.utc))
        self.assertEqual(tokens.to_dict()["expires_at"], "2030-01-01T00:00:00.500000Z")

    def test_tokens_cannot_be_changed_by_accident(self) -> None:
        with self.assertRaises(dataclasses.FrozenInstanceError):
            TOKENS.access_token = "x"  # pyright: ignore[reportAttributeAccessIssue]


def app_origin(app: App) -> str:
    return repr(app).split("'")[1]
