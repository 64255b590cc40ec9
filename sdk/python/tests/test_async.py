import asyncio
import importlib.util
import logging
import subprocess
import sys
import unittest
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

from gatehouse_client import ActiveToken, GatehouseError, InactiveToken, Tokens
from tests.connected import BUSINESSES, ended
from tests.faulty_server import FaultyResponse, FaultyServer, drip, hang_up, reply
from tests.relay import TOKEN, Relay
from tests.reported import chain, library_frames
from tests.gatehouse import Gatehouse, get_gatehouse
from tests.times import EPOCH

if TYPE_CHECKING:
    from gatehouse_client import AsyncApi, AsyncApp

# On a busy machine asyncio's debug mode, which the tests run in, reports slow steps.
logging.getLogger("asyncio").setLevel(logging.ERROR)

HAS_HTTPX = importlib.util.find_spec("httpx") is not None
SOURCES = Path(__file__).resolve().parent.parent / "src"
HELD = Tokens(access_token="gat_held", refresh_token="grt_held", expires_at=EPOCH, scopes=())


def new_app(gatehouse: Gatehouse, base_url: str | None = None) -> "AsyncApp":
    from gatehouse_client import AsyncApp

    return AsyncApp(
        base_url=base_url or gatehouse.base_url,
        client_id=gatehouse.client_id,
        client_secret=gatehouse.client_secret,
        redirect_uri=gatehouse.redirect_uri,
    )


def new_api(base_url: str, timeout: float = 30.0) -> "AsyncApi":
    from gatehouse_client import AsyncApi

    return AsyncApi(base_url=base_url, access_token="gat_held", timeout=timeout)


class WithoutHttpx(unittest.TestCase):
    def test_without_httpx_the_synchronous_library_works_and_the_other_says_what_to_install(self) -> None:
        program = "import sys; sys.path.insert(0, sys.argv[1]); from gatehouse_client import *; App; Api; "
        failing = program + "print('So far.'); from gatehouse_client import AsyncApp"
        # -S: without the packages of this machine.
        ended = subprocess.run(
            [sys.executable, "-I", "-S", "-c", failing, str(SOURCES)], capture_output=True, text=True, check=False
        )

        self.assertEqual(ended.stdout, "So far.\n")
        self.assertTrue(
            ended.stderr.rstrip().endswith("AsyncApp needs httpx: pip install 'gatehouse-client[async]'"), ended.stderr
        )


@unittest.skipUnless(HAS_HTTPX, "httpx is not installed")
class Asynchronous(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.gatehouse = get_gatehouse()
        self.saved: list[Tokens] = []
        self.relay = Relay(self.gatehouse.base_url)
        self.relay.__enter__()
        self.addCleanup(self.relay.__exit__)
        self.app = new_app(self.gatehouse, self.relay.base_url)
        self.addAsyncCleanup(self.app.aclose)

    async def save(self, tokens: Tokens) -> None:
        await asyncio.sleep(0)
        self.saved.append(tokens)

    async def test_a_visitor_who_allows_the_app_gives_it_tokens_that_list_invoices(self) -> None:
        async with new_app(self.gatehouse) as app:
            began = app.begin_authorization(scopes=["read:invoices"])
            callback = await asyncio.to_thread(self.gatehouse.allow, began.url)
            tokens = await app.finish_authorization(callback, state=began.state, code_verifier=began.code_verifier)
            api = app.api(tokens=tokens, save=self.save)
            [business] = await api.businesses()
            invoices = [invoice async for invoice in api.invoices(business.id, page_size=50)]
            page = await api.invoice_page(business.id, limit=7)
            me = await api.me()

            self.assertEqual((len(invoices), len(page.invoices)), (120, 7))
            self.assertEqual((me.business, me.scopes), (business, ("read:invoices",)))
            self.assertIsInstance(await app.introspect(tokens.access_token), ActiveToken)
            newer = await app.refresh(tokens.refresh_token)
            await app.revoke(newer.refresh_token)
            self.assertIsInstance(await app.introspect(newer.access_token), InactiveToken)

    async def test_events_are_the_same_as_those_of_the_synchronous_library(self) -> None:
        await asyncio.to_thread(self.gatehouse.connect)
        await asyncio.to_thread(self.gatehouse.advance_clock, 20)
        whole = await asyncio.to_thread(lambda: list(self.gatehouse.app().events()))

        self.assertEqual([event async for event in self.app.events(page_size=3)], whole)
        self.assertEqual([event async for event in self.app.events(after=whole[0].id)], whole[1:])
        self.assertEqual((await self.app.event_page(limit=2)).events, tuple(whole[:2]))

    async def test_a_hundred_tasks_with_an_expired_token_cause_one_refresh_and_all_succeed(self) -> None:
        tokens = await asyncio.to_thread(self.gatehouse.connect)
        api = self.app.api(tokens=ended(tokens), save=self.save)

        outcomes = await asyncio.gather(*(api.businesses() for _ in range(100)))

        self.assertEqual({business.name for [business] in outcomes}, {"Acme"})
        self.assertEqual((self.relay.count(TOKEN), self.relay.count(BUSINESSES), len(self.saved)), (1, 100, 1))

    async def test_a_rejected_token_is_replaced_and_the_call_repeated(self) -> None:
        tokens = await asyncio.to_thread(self.gatehouse.connect)
        await self.app.revoke(tokens.access_token)

        self.assertEqual(len(await self.app.api(tokens=tokens, save=self.save).businesses()), 1)
        self.assertEqual((self.relay.count(TOKEN), len(self.saved)), (1, 1))

    async def test_tasks_share_a_rejected_refresh_and_each_raises_its_own_error(self) -> None:
        tokens = await asyncio.to_thread(self.gatehouse.connect)
        await self.app.revoke(tokens.refresh_token)
        api = self.app.api(tokens=ended(tokens), save=self.save)

        outcomes = await asyncio.gather(*(api.businesses() for _ in range(20)), return_exceptions=True)
        again = await asyncio.gather(api.businesses(), return_exceptions=True)

        reasons = {getattr(outcome, "reason", None) for outcome in [*outcomes, *again]}
        self.assertEqual(reasons, {"revoked_by_app"})
        self.assertEqual(len({id(outcome) for outcome in outcomes}), 20)
        self.assertEqual(self.relay.count(TOKEN), 1)

    async def test_a_cancelled_task_does_not_end_the_refresh_of_the_others(self) -> None:
        tokens = await asyncio.to_thread(self.gatehouse.connect)
        saving, go_on = asyncio.Event(), asyncio.Event()

        async def save(newer: Tokens) -> None:
            saving.set()
            await go_on.wait()
            self.saved.append(newer)

        api = self.app.api(tokens=ended(tokens), save=save)
        first, second = (asyncio.create_task(api.businesses()) for _ in range(2))
        await saving.wait()
        first.cancel()
        go_on.set()

        self.assertEqual(len(await second), 1)
        with self.assertRaises(asyncio.CancelledError):
            await first
        self.assertEqual((self.relay.count(TOKEN), len(self.saved)), (1, 1))

    async def test_tokens_are_not_used_before_they_are_saved_and_are_saved_again_if_that_fails(self) -> None:
        failure = OSError("the disk is full")
        attempts: list[Tokens] = []

        def save(newer: Tokens) -> None:
            attempts.append(newer)
            if len(attempts) == 1:
                raise failure

        api = self.app.api(tokens=ended(await asyncio.to_thread(self.gatehouse.connect)), save=save)
        with self.assertRaises(OSError) as caught:
            await api.businesses()
        self.assertIs(caught.exception, failure)
        self.assertEqual(self.relay.count(BUSINESSES), 0)

        self.assertEqual(len(await api.businesses()), 1)
        self.assertEqual(attempts[0], attempts[1])
        self.assertEqual(self.relay.count(TOKEN), 1)

    async def test_tokens_that_another_worker_has_stored_are_used(self) -> None:
        tokens = await asyncio.to_thread(self.gatehouse.connect)
        newer = await self.app.refresh(tokens.refresh_token)

        async def load() -> Tokens:
            return newer

        api = self.app.api(tokens=ended(tokens), save=self.save, load=load)

        self.assertEqual(len(await api.businesses()), 1)
        self.assertEqual((self.relay.count(TOKEN), self.saved), (1, []))

    async def test_save_must_not_call_the_api_that_waits_for_it(self) -> None:
        async def save(_: Tokens) -> None:
            await api.businesses()

        api = self.app.api(tokens=ended(await asyncio.to_thread(self.gatehouse.connect)), save=save)

        with self.assertRaises(RuntimeError):
            await api.businesses()

    async def test_a_refresh_without_a_response_is_repeated(self) -> None:
        tokens = await asyncio.to_thread(self.gatehouse.connect)
        self.relay.lose_next(TOKEN)

        self.assertEqual(len(await self.app.api(tokens=ended(tokens), save=self.save).businesses()), 1)
        self.assertEqual((self.relay.count(TOKEN), len(self.saved)), (2, 1))


# Several of them repeat something secret, as a broken server might.
TROUBLES: tuple[tuple[FaultyResponse, str], ...] = (
    (reply(200, {"access_token": "gat_new"})[:-3], "network_error"),
    (b"gat_new grt_new\r\n\r\n", "network_error"),
    (reply(200, b"gat_new"), "invalid_response"),
    (reply(302, b"", location="https://elsewhere.example/"), "invalid_response"),
    (reply(500, b"<p>grt_held gcs_secret gat_held</p>"), "invalid_response"),
    (reply(200, b"x" * (4 * 1024 * 1024 + 1)), "response_too_large"),
    (reply(403, {"error": "business_mismatch", "error_description": "No."}), "business_mismatch"),
    (hang_up, "network_error"),
)


@unittest.skipUnless(HAS_HTTPX, "httpx is not installed")
class AsynchronousTroubles(unittest.IsolatedAsyncioTestCase):
    async def failure(self, response: FaultyResponse, timeout: float = 30.0) -> GatehouseError:
        with patch("gatehouse_client._retries.random.uniform", return_value=0.0), FaultyServer(response) as server:
            async with new_api(server.base_url, timeout) as api:
                with self.assertRaises(GatehouseError) as caught:
                    await api.businesses()
        return caught.exception

    async def test_no_error_contains_a_secret(self) -> None:
        for response, code in TROUBLES:
            with self.subTest(code=code):
                error = await self.failure(response)

                self.assertEqual(error.code, code)
                for found in chain(error):
                    texts = [repr(found), str(found)]
                    texts += [repr(value) for frame in library_frames(found) for value in frame.f_locals.values()]
                    for secret in ("gat_held", "gat_new", "grt_new", "gcs_secret"):
                        self.assertNotIn(secret, "\n".join(texts))

    async def test_a_slow_response_ends_with_the_timeout(self) -> None:
        slow = drip(reply(200, b" " * 10_000)[:-9_999], b" ")
        self.assertEqual((await self.failure(slow, timeout=0.3)).code, "timeout")

    async def test_a_refused_connection_is_a_network_error_with_its_cause(self) -> None:
        with patch("gatehouse_client._retries.random.uniform", return_value=0.0):
            async with new_api("http://127.0.0.1:1") as api:
                with self.assertRaises(GatehouseError) as caught:
                    await api.businesses()

        self.assertEqual(caught.exception.code, "network_error")
        self.assertIsInstance(caught.exception.__cause__, OSError)

    async def test_no_printed_object_shows_a_secret(self) -> None:
        gatehouse = Gatehouse("", "http://127.0.0.1:1", "c1", "gcs_secret", "http://127.0.0.1/callback", "", "[]")
        app = new_app(gatehouse)
        for thing in (app, app.api(tokens=HELD, save=print), new_api("http://127.0.0.1:1")):
            for secret in ("gcs_secret", "gat_held", "grt_held"):
                self.assertNotIn(secret, repr(thing))

    async def test_a_request_names_the_library_and_accepts_no_compression(self) -> None:
        with FaultyServer(reply(200, [])) as server:
            async with new_api(server.base_url) as api:
                await api.businesses()

        [request] = server.requests
        self.assertIn(b"gatehouse-client-python/", request)
        self.assertIn(b"accept-encoding: identity", request.lower())
