import dataclasses

from gatehouse_client import GatehouseError, Tokens
from tests.connected import BUSINESSES, ConnectedCase, ended
from tests.faulty_server import FaultyServer, reply
from tests.relay import TOKEN
from tests.times import from_now


class Refreshing(ConnectedCase):
    def test_a_token_that_is_not_about_to_expire_is_used(self) -> None:
        self.api(self.gatehouse.connect()).businesses()

        self.assertEqual((self.relay.paths, self.saved), ([BUSINESSES], []))

    def test_a_token_within_a_minute_of_its_expiry_is_replaced_before_it_is_used(self) -> None:
        for seconds, refreshes in ((50, 1), (70, 0)):
            with self.subTest(seconds=seconds):
                tokens = dataclasses.replace(self.gatehouse.connect(), expires_at=from_now(seconds))
                before = self.relay.count(TOKEN)

                self.api(tokens).businesses()

                self.assertEqual(self.relay.count(TOKEN) - before, refreshes)
                self.assertEqual(self.relay.bearers[-1] == tokens.access_token, refreshes == 0)

    def test_tokens_that_0_1_0_pickled_are_read(self) -> None:
        """Unpickling calls no constructor, so their time is still a number."""
        for seconds, refreshes in ((50, 1), (70, 0)):
            for is_stored in (False, True):
                with self.subTest(seconds=seconds, is_stored=is_stored):
                    tokens = self.gatehouse.connect()
                    object.__setattr__(tokens, "expires_at", from_now(seconds).timestamp())
                    first = ended(self.gatehouse.connect()) if is_stored else tokens
                    before = self.relay.count(TOKEN)

                    self.app.api(tokens=first, save=self.saved.append, load=lambda tokens=tokens: tokens).businesses()

                    self.assertEqual(self.relay.count(TOKEN) - before, refreshes)

    def test_a_token_that_the_server_rejects_is_replaced_and_the_call_repeated_once(self) -> None:
        tokens = self.gatehouse.connect()
        api = self.api(tokens)
        self.gatehouse.advance_clock(3601)

        self.assertEqual([business.name for business in api.businesses()], ["Acme"])

        self.assertEqual(self.relay.paths, [BUSINESSES, TOKEN, BUSINESSES])
        self.assertEqual(self.relay.bearers, [tokens.access_token, "", self.saved[0].access_token])

    def test_a_call_that_is_rejected_for_another_reason_is_not_repeated(self) -> None:
        api = self.api(self.gatehouse.connect(["read:contacts"]))

        with self.assertRaises(GatehouseError) as caught:
            api.invoice_page(self.gatehouse.business_id)

        self.assertEqual((caught.exception.status, caught.exception.code), (403, "insufficient_scope"))
        self.assertEqual(len(self.relay.paths), 1)

    def test_new_tokens_are_saved_before_they_are_used(self) -> None:
        happened: list[str] = []
        self.relay.before = lambda path: happened.append(path.rpartition("/")[2])
        api = self.app.api(tokens=ended(self.gatehouse.connect()), save=lambda tokens: happened.append("saved"))

        api.businesses()

        self.assertEqual(happened, ["token", "saved", "businesses"])

    def test_saved_tokens_work_in_another_process(self) -> None:
        self.api(ended(self.gatehouse.connect())).businesses()

        restored = Tokens.from_dict(self.saved[0].to_dict())
        self.api(ended(restored)).businesses()

        self.assertEqual(len(self.saved), 2)

    def test_a_failed_save_raises_in_every_caller_and_is_repeated_without_another_refresh(self) -> None:
        failure = OSError("the disk is full")
        offered: list[Tokens] = []

        def save(tokens: Tokens) -> None:
            offered.append(tokens)
            if len(offered) == 1:
                raise failure

        api = self.app.api(tokens=ended(self.gatehouse.connect()), save=save)
        with self.assertRaises(OSError) as caught:
            api.businesses()
        self.assertIs(caught.exception, failure)
        self.assertEqual(self.relay.paths, [TOKEN])

        api.businesses()

        self.assertEqual(self.relay.paths, [TOKEN, BUSINESSES])
        self.assertIs(offered[0], offered[1])
        self.assertEqual(self.relay.bearers[-1], offered[0].access_token)

    def test_a_pair_that_could_not_be_saved_is_saved_before_the_next_request(self) -> None:
        """Also if the old token has not expired, but was rejected."""
        offered: list[Tokens] = []

        def save(tokens: Tokens) -> None:
            offered.append(tokens)
            if len(offered) == 1:
                raise OSError("the disk is full")

        tokens = self.gatehouse.connect()
        self.gatehouse.app().revoke(tokens.access_token)
        api = self.app.api(tokens=tokens, save=save)
        with self.assertRaises(OSError):
            api.businesses()

        api.businesses()

        self.assertEqual(self.relay.paths, [BUSINESSES, TOKEN, BUSINESSES])
        self.assertEqual(len(offered), 2)

    def test_a_401_that_is_not_about_the_token_does_not_refresh_it(self) -> None:
        with FaultyServer(reply(401, {"error": "unauthorized", "error_description": "No."})) as server:
            api = self.gatehouse.app(server.base_url).api(tokens=self.gatehouse.connect(), save=self.saved.append)
            self.assertEqual(self.failure_of(api.businesses).code, "unauthorized")
            self.assertEqual(len(server.requests), 1)

    def test_an_async_save_is_rejected(self) -> None:
        async def store() -> None:
            pass

        waiting = store()
        api = self.app.api(tokens=ended(self.gatehouse.connect()), save=lambda tokens: waiting)
        with self.assertRaises(TypeError):
            api.businesses()
        waiting.close()

    def test_save_may_not_call_the_api_that_waits_for_it(self) -> None:
        def save(tokens: Tokens) -> None:
            api.businesses()

        api = self.app.api(tokens=ended(self.gatehouse.connect()), save=save)
        with self.assertRaisesRegex(RuntimeError, "save and load"):
            api.businesses()

    def test_a_lost_response_is_requested_again_and_has_the_same_pair(self) -> None:
        self.relay.lose_next(TOKEN)

        self.api(ended(self.gatehouse.connect())).businesses()

        self.assertEqual(self.relay.count(TOKEN), 2)
        [lost], [saved] = self.relay.lost, self.saved
        self.assertIn(saved.access_token.encode(), lost)
        self.assertIn(saved.refresh_token.encode(), lost)

    def test_a_rejected_refresh_says_why_saves_nothing_and_is_not_repeated(self) -> None:
        api = self.api(self.gatehouse.connect())
        self.gatehouse.disconnect()

        errors = [self.failure_of(api.businesses) for _ in range(3)]

        for error in errors:
            self.assertEqual((error.status, error.code, error.reason), (400, "invalid_grant", "disconnected_by_user"))
        self.assertEqual(errors[0].request_id, errors[2].request_id)
        self.assertEqual(self.relay.paths, [BUSINESSES, TOKEN])
        self.assertEqual(self.saved, [])

    def test_a_disabled_app_continues_with_the_same_tokens_once_it_is_enabled(self) -> None:
        api = self.api(self.gatehouse.connect())
        self.gatehouse.disable_app()
        self.addCleanup(self.gatehouse.enable_app)
        self.assertEqual(self.failure_of(api.businesses).reason, "app_disabled")

        self.gatehouse.enable_app()

        self.assertEqual(len(api.businesses()), 1)
