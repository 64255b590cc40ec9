import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from gatehouse_client import Api, Business, Tokens
from tests.connected import BUSINESSES, ConnectedCase, ended
from tests.relay import TOKEN


class Threads(ConnectedCase):
    def test_a_hundred_threads_with_an_expired_token_cause_one_refresh_and_all_succeed(self) -> None:
        api = self.api(ended(self.gatehouse.connect()))

        outcomes = self.call_from_a_hundred_threads(api)

        self.assertEqual({outcome[0].name for outcome in outcomes if isinstance(outcome, list)}, {"Acme"})
        self.assertEqual(sum(isinstance(outcome, list) for outcome in outcomes), 100)
        self.assertEqual((self.relay.count(TOKEN), self.relay.count(BUSINESSES), len(self.saved)), (1, 100, 1))

    def test_a_hundred_threads_whose_token_is_rejected_cause_one_refresh_and_all_succeed(self) -> None:
        tokens = self.gatehouse.connect()
        self.gatehouse.app().revoke(tokens.access_token)

        outcomes = self.call_from_a_hundred_threads(self.api(tokens))

        self.assertEqual(sum(isinstance(outcome, list) for outcome in outcomes), 100)
        self.assertEqual((self.relay.count(TOKEN), len(self.saved)), (1, 1))
        self.assertEqual(self.relay.bearers.count(self.saved[0].access_token), 100)

    def test_a_hundred_threads_share_a_rejected_refresh(self) -> None:
        tokens = self.gatehouse.connect()
        self.gatehouse.app().revoke(tokens.refresh_token)

        outcomes = self.call_from_a_hundred_threads(self.api(ended(tokens)))

        self.assertEqual({getattr(outcome, "reason", None) for outcome in outcomes}, {"revoked_by_app"})
        self.assertEqual(len({id(outcome) for outcome in outcomes}), 100)
        self.assertEqual(self.relay.paths, [TOKEN])

    def test_waiting_threads_share_the_error_of_save(self) -> None:
        failure = OSError("the disk is full")
        attempts: list[Tokens] = []
        everyone_called = threading.Event()

        def save(tokens: Tokens) -> None:
            attempts.append(tokens)
            everyone_called.wait()
            raise failure

        api = self.app.api(tokens=ended(self.gatehouse.connect()), save=save)
        outcomes = self.call_from_a_hundred_threads(api, everyone_called.set)

        self.assertEqual({id(outcome) for outcome in outcomes}, {id(failure)})
        self.assertEqual(len({tokens.refresh_token for tokens in attempts}), 1)
        self.assertEqual(self.relay.paths, [TOKEN])

    def test_if_the_refreshing_thread_is_interrupted_another_takes_over(self) -> None:
        saving, go_on = threading.Event(), threading.Event()

        def save(tokens: Tokens) -> None:
            self.saved.append(tokens)
            if len(self.saved) == 1:
                saving.set()
                go_on.wait()
                raise KeyboardInterrupt

        api = self.app.api(tokens=ended(self.gatehouse.connect()), save=save)
        with ThreadPoolExecutor(2) as pool:
            first = pool.submit(api.businesses)
            saving.wait()
            second = pool.submit(api.businesses)
            go_on.set()
            self.assertIsInstance(first.exception(), KeyboardInterrupt)
            self.assertEqual(second.result()[0].name, "Acme")
        self.assertEqual(self.relay.paths, [TOKEN, BUSINESSES])

    def call_from_a_hundred_threads(
        self, api: Api, when_all_run: Callable[[], None] = lambda: None
    ) -> list[list[Business] | Exception]:
        together = threading.Barrier(100, action=when_all_run)

        def call(_: int) -> list[Business] | Exception:
            together.wait()
            try:
                return api.businesses()
            except Exception as error:
                return error

        with ThreadPoolExecutor(100) as pool:
            return list(pool.map(call, range(100)))
