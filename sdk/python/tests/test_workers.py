"""Several workers that share a store."""

from gatehouse_client import Api, Tokens
from tests.connected import BUSINESSES, ConnectedCase, ended
from tests.relay import TOKEN
from tests.times import EPOCH


class Workers(ConnectedCase):
    def setUp(self) -> None:
        super().setUp()
        self.stored = ended(self.gatehouse.connect())

    def worker(self) -> Api:
        def save(tokens: Tokens) -> None:
            self.stored = tokens

        return self.app.api(tokens=self.stored, save=save, load=lambda: self.stored)

    def test_a_second_worker_uses_the_tokens_that_the_first_has_stored(self) -> None:
        first, second = self.worker(), self.worker()
        first.businesses()

        second.businesses()

        self.assertEqual(self.relay.count(TOKEN), 1)
        self.assertEqual(self.relay.bearers[-1], self.stored.access_token)

    def test_a_rejected_token_is_replaced_from_the_store_before_a_refresh(self) -> None:
        first, second = self.worker(), self.worker()
        first.businesses()
        second.businesses()
        self.gatehouse.advance_clock(3601)
        first.businesses()

        second.businesses()

        self.assertEqual(self.relay.count(TOKEN), 2)
        self.assertEqual(self.relay.bearers[-1], self.stored.access_token)

    def test_stored_tokens_that_have_expired_as_well_are_refreshed(self) -> None:
        second = self.worker()
        self.worker().businesses()
        self.stored = ended(self.stored)

        second.businesses()

        self.assertEqual(self.relay.count(TOKEN), 2)
        self.assertTrue(self.stored.expires_at > EPOCH)

    def test_a_store_that_lags_behind_does_not_bring_back_a_spent_refresh_token(self) -> None:
        """The server would treat it as a replay, and end the grant."""
        history = [self.stored]
        lags: list[Tokens] = []
        api = self.app.api(tokens=self.stored, save=history.append, load=lambda: lags.pop())
        lags.append(history[0])
        api.businesses()
        for lag in (0, 0, 1, 2):
            self.gatehouse.advance_clock(3601)
            lags.append(history[lag])
            api.businesses()

        self.assertEqual((lags, len(history), self.relay.count(TOKEN)), ([], 6, 5))

    def test_an_empty_store_changes_nothing(self) -> None:
        api = self.app.api(tokens=self.stored, save=lambda tokens: None, load=lambda: None)

        api.businesses()

        self.assertEqual(self.relay.count(TOKEN), 1)

    def test_a_worker_with_an_ended_grant_recovers_when_the_user_has_connected_again(self) -> None:
        api = self.worker()
        self.gatehouse.app().revoke(self.stored.refresh_token)
        for _ in range(2):
            self.assertEqual(self.failure_of(api.businesses).reason, "revoked_by_app")

        self.stored = self.gatehouse.connect()
        api.businesses()

        self.assertEqual(self.relay.paths, [TOKEN, BUSINESSES])

    def test_a_failed_load_raises_in_the_caller_and_nothing_is_refreshed(self) -> None:
        def load() -> Tokens:
            raise LookupError("the store is away")

        api = self.app.api(tokens=self.stored, save=lambda tokens: None, load=load)
        with self.assertRaisesRegex(LookupError, "the store is away"):
            api.businesses()

        self.assertEqual(self.relay.paths, [])

    def test_a_load_that_returns_no_tokens_is_rejected(self) -> None:
        load: object = lambda: {"access_token": "x"}  # noqa: E731
        api = self.app.api(
            tokens=self.stored,
            save=lambda tokens: None,
            load=load,  # pyright: ignore[reportArgumentType]
        )
        with self.assertRaisesRegex(TypeError, "load must return Tokens or None, not dict"):
            api.businesses()
