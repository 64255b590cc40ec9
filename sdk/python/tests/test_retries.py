import unittest
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from unittest.mock import patch
from urllib.request import OpenerDirector

from gatehouse_client import Api, App, GatehouseError, Tokens
from tests.faulty_server import FaultyResponse, FaultyServer, hang_up, reply, stay_silent
from tests.fake_clock import Clock, fake_clock
from tests.gatehouse import get_gatehouse

OPEN = "urllib.request.OpenerDirector.open"
TOKEN_RESPONSE = {"access_token": "gat_2", "token_type": "bearer", "expires_in": 3600, "refresh_token": "grt_2", "scope": "a"}
BUSY = {"error": "too_many_requests", "error_description": "Later."}
GOOD = reply(200, [{"id": "b1", "name": "Acme"}])


class Retries(unittest.TestCase):
    def app(self, server: FaultyServer, timeout: float = 30.0) -> App:
        return App(
            base_url=server.base_url,
            client_id="c1",
            client_secret="gcs_1",
            redirect_uri="http://127.0.0.1/callback",
            timeout=timeout,
        )

    def list_businesses(self, *responses: FaultyResponse) -> tuple[list[float], int]:
        """The pauses, and the number of requests."""
        with FaultyServer(*responses) as server, fake_clock() as clock:
            businesses = Api(base_url=server.base_url, access_token="gat_1").businesses()
            self.assertEqual(businesses[0].name, "Acme")
            return clock.waits, len(server.requests)

    def test_reading_is_tried_up_to_three_times_after_a_temporary_failure(self) -> None:
        for fault in (hang_up, *(reply(status, b"<html>") for status in (408, 429, 502, 503, 504))):
            with self.subTest(fault=fault):
                waits, requests = self.list_businesses(fault, fault, GOOD)

                self.assertEqual(requests, 3)
                self.assertTrue(0.125 <= waits[0] <= 0.25 and 0.25 <= waits[1] <= 0.5, waits)

    def test_after_three_attempts_the_last_failure_is_the_error(self) -> None:
        with FaultyServer(reply(503, BUSY)) as server, fake_clock() as clock:
            with self.assertRaises(GatehouseError) as caught:
                Api(base_url=server.base_url, access_token="gat_1").businesses()
            self.assertEqual((len(server.requests), len(clock.waits)), (3, 2))
        self.assertEqual((caught.exception.status, caught.exception.code), (503, "too_many_requests"))

    def test_a_permanent_failure_is_not_tried_again(self) -> None:
        for status in (400, 401, 403, 404, 500, 302):
            with self.subTest(status=status), FaultyServer(reply(status, BUSY)) as server, fake_clock() as clock:
                with self.assertRaises(GatehouseError):
                    Api(base_url=server.base_url, access_token="gat_1").businesses()
                self.assertEqual((len(server.requests), clock.waits), (1, []))

    def test_retry_after_says_how_long_to_wait_in_seconds_or_as_a_date(self) -> None:
        self.assertEqual(self.list_businesses(reply(429, BUSY, Retry_After="7"), GOOD), ([7.0], 2))
        self.assertEqual(self.list_businesses(reply(503, BUSY, Retry_After="0"), GOOD), ([0.0], 2))

        soon = datetime.now(timezone.utc) + timedelta(seconds=20)
        waits, _ = self.list_businesses(reply(429, BUSY, Retry_After=format_datetime(soon, usegmt=True)), GOOD)
        self.assertTrue(10 < waits[0] <= 20, waits)

        past = "Wed, 21 Oct 2015 07:28:00 GMT"
        self.assertEqual(self.list_businesses(reply(429, BUSY, Retry_After=past), GOOD), ([0.0], 2))
        self.assertTrue(self.list_businesses(reply(429, BUSY, Retry_After="soon"), GOOD)[0][0] <= 0.25)

    def test_an_invalid_retry_after_is_ignored(self) -> None:
        for date in (
            "Mon, 01 Jan 99999999999999999999 00:00:00 GMT",
            "Mon, 01 Jan 2030 00:00:00 +99999999999999",
            "Mon, 01 Jan 2030 99:99:99 GMT",
            "Mon, 01 Jan 0000 00:00:00 GMT",
        ):
            with self.subTest(date=date):
                waits, requests = self.list_businesses(reply(503, BUSY, Retry_After=date), GOOD)
                self.assertTrue(requests == 2 and waits[0] <= 0.25, waits)

    def test_a_wait_of_more_than_half_a_minute_is_left_to_the_caller(self) -> None:
        with FaultyServer(reply(429, BUSY, Retry_After="31")) as server, fake_clock() as clock:
            with self.assertRaises(GatehouseError) as caught:
                Api(base_url=server.base_url, access_token="gat_1").businesses()
            self.assertEqual((len(server.requests), clock.waits), (1, []))
        self.assertEqual((caught.exception.status, caught.exception.retry_after), (429, 31.0))

    def test_the_servers_own_limit_is_an_error_that_says_when_it_ends(self) -> None:
        gatehouse = get_gatehouse("limited")
        api = Api(base_url=gatehouse.base_url, access_token=gatehouse.connect().access_token)
        api.businesses()
        api.businesses()

        with fake_clock(), self.assertRaises(GatehouseError) as caught:
            api.businesses()

        error = caught.exception
        self.assertEqual((error.status, error.code), (429, "too_many_requests"))
        self.assertTrue(error.retry_after is not None and 0 < error.retry_after <= 60)

    def test_a_code_is_never_sent_twice_unless_it_was_certainly_not_processed(self) -> None:
        for fault in (hang_up, *(reply(status, BUSY) for status in (408, 502, 503, 504))):
            with self.subTest(fault=fault), FaultyServer(fault) as server, fake_clock():
                with self.assertRaises(GatehouseError):
                    self.finish(server, timeout=30)
                self.assertEqual(len(server.requests), 1)

        with FaultyServer(stay_silent) as server, fake_clock():
            with self.assertRaises(GatehouseError):
                self.finish(server, timeout=0.3)
            # On a slow machine, the time may be over before the server has read the request.
            self.assertLessEqual(len(server.requests), 1)

        with FaultyServer(reply(429, BUSY, Retry_After="1"), reply(200, TOKEN_RESPONSE)) as server, fake_clock() as clock:
            self.assertEqual(self.finish(server, timeout=30).access_token, "gat_2")
            self.assertEqual((len(server.requests), clock.waits), (2, [1.0]))

    def finish(self, server: FaultyServer, timeout: float) -> Tokens:
        callback = f"http://127.0.0.1/callback?code=gac_1&state=s1&iss={server.base_url}"
        return self.app(server, timeout).finish_authorization(callback, state="s1", code_verifier="v" * 43)

    def test_refresh_revoke_and_introspect_are_tried_again(self) -> None:
        calls: list[tuple[Callable[[App], object], object]] = [
            (lambda app: app.refresh("grt_1"), TOKEN_RESPONSE),
            (lambda app: app.revoke("grt_1"), {}),
            (lambda app: app.introspect("grt_1"), {"active": False}),
        ]
        for call, response in calls:
            with FaultyServer(hang_up, reply(503, b""), reply(200, response)) as server, fake_clock():
                call(self.app(server))
                self.assertEqual(len(server.requests), 3)
                self.assertEqual(len(set(server.requests)), 1)

    def test_an_attempt_to_refresh_has_eight_seconds_or_less_and_any_other_the_whole_timeout(self) -> None:
        spy = patch(OPEN, autospec=True, side_effect=OpenerDirector.open)
        with FaultyServer(reply(200, TOKEN_RESPONSE)) as server, spy as opened:
            for timeout in (30.0, 5.0):
                self.app(server, timeout).refresh("grt_1")
                self.finish(server, timeout)
        timeouts = [call.kwargs["timeout"] for call in opened.call_args_list]
        self.assertEqual(timeouts, [8.0, 30.0, 5.0, 5.0])

    def test_no_attempt_to_refresh_begins_later_than_twenty_seconds_after_the_first(self) -> None:
        clock = Clock()

        def take(seconds: float) -> FaultyResponse:
            def response(*_: object) -> None:
                clock.advance_clock(seconds)

            return response

        for taken, requests in ((8.0, 3), (19.0, 2), (20.0, 1)):
            with self.subTest(taken=taken), FaultyServer(take(taken)) as server, fake_clock(clock):
                with self.assertRaises(GatehouseError):
                    self.app(server).refresh("grt_1")
                self.assertEqual(len(server.requests), requests)

        with FaultyServer(reply(503, BUSY, Retry_After="21")) as server, fake_clock(clock):
            with self.assertRaises(GatehouseError) as caught:
                self.app(server).refresh("grt_1")
            self.assertEqual((len(server.requests), caught.exception.retry_after), (1, 21.0))
