import base64
import hashlib
import unittest
from datetime import timedelta, timezone
from urllib.parse import parse_qs, urlsplit

from gatehouse_client import ActiveToken, Api, GatehouseError, InactiveToken
from tests.gatehouse import get_gatehouse
from tests.times import from_now


class Flow(unittest.TestCase):
    def setUp(self) -> None:
        self.gatehouse = get_gatehouse()
        self.app = self.gatehouse.app()

    def test_a_visitor_who_allows_the_app_gives_it_tokens_that_list_invoices(self) -> None:
        began = self.app.begin_authorization(scopes=["read:invoices"])
        callback = self.gatehouse.allow(began.url)
        before = from_now(3600)

        tokens = self.app.finish_authorization(callback, state=began.state, code_verifier=began.code_verifier)

        self.assertEqual(tokens.scopes, ("read:invoices",))
        self.assertTrue(before <= tokens.expires_at <= from_now(3600))
        api = Api(base_url=self.gatehouse.base_url, access_token=tokens.access_token)
        [business] = api.businesses()
        self.assertEqual((business.id, business.name), (self.gatehouse.business_id, "Acme"))
        self.assertEqual(len(api.invoice_page(business.id).invoices), 50)

    def test_the_query_of_the_callback_is_accepted_instead_of_its_url(self) -> None:
        for shape in ("{query}", "?{query}", "/callback?{query}", "https://elsewhere.example/?{query}#top"):
            began = self.app.begin_authorization(scopes=["read:invoices"])
            callback = shape.format(query=urlsplit(self.gatehouse.allow(began.url)).query)

            tokens = self.app.finish_authorization(callback, state=began.state, code_verifier=began.code_verifier)

            self.assertIsInstance(self.app.introspect(tokens.access_token), ActiveToken)

    def test_each_authorization_has_its_own_state_and_verifier(self) -> None:
        one, two = (self.app.begin_authorization(scopes=("read:invoices", "read:contacts")) for _ in range(2))
        query = parse_qs(urlsplit(one.url).query)

        self.assertEqual(len({one.state, two.state, one.code_verifier, two.code_verifier}), 4)
        self.assertTrue(all(len(secret) >= 43 for secret in (one.state, one.code_verifier)))
        digest = hashlib.sha256(one.code_verifier.encode()).digest()
        self.assertEqual(query["code_challenge"], [base64.urlsafe_b64encode(digest).decode().rstrip("=")])
        self.assertEqual(query["code_challenge_method"], ["S256"])
        self.assertEqual(query["scope"], ["read:invoices read:contacts"])
        self.assertEqual(query["state"], [one.state])
        self.assertNotIn("prompt", query)
        self.assertNotIn("optional_scope", query)
        self.assertNotIn(one.code_verifier, one.url)

    def test_optional_scopes_are_requested_as_optional(self) -> None:
        began = self.app.begin_authorization(
            scopes=["read:invoices"], optional_scopes=("read:contacts", "write:invoices")
        )
        query = parse_qs(urlsplit(began.url).query)

        self.assertEqual(query["scope"], ["read:invoices"])
        self.assertEqual(query["optional_scope"], ["read:contacts write:invoices"])

    def test_deny_is_an_error_that_says_so(self) -> None:
        began = self.app.begin_authorization(scopes=["read:contacts"])
        callback = self.gatehouse.deny(began.url)

        with self.assertRaises(GatehouseError) as caught:
            self.app.finish_authorization(callback, state=began.state, code_verifier=began.code_verifier)

        self.assertEqual((caught.exception.code, caught.exception.status), ("access_denied", None))
        self.assertTrue(caught.exception.description)
        self.assertEqual(caught.exception.reason, "denied_by_user")
        self.assertEqual(caught.exception.uri, f"{self.gatehouse.base_url}/docs/errors/access_denied#denied_by_user")

    def test_prompt_none_shows_no_page_to_a_visitor_without_a_session(self) -> None:
        began = self.app.begin_authorization(scopes=["read:invoices"], prompt="none")
        callback = self.gatehouse.visit_signed_out(began.url)

        with self.assertRaises(GatehouseError) as caught:
            self.app.finish_authorization(callback, state=began.state, code_verifier=began.code_verifier)

        self.assertEqual(caught.exception.code, "login_required")

    def test_prompt_login_asks_for_the_password_and_then_continues(self) -> None:
        self.gatehouse.advance_clock(1)
        began = self.app.begin_authorization(scopes=["read:invoices"], prompt="login")
        self.gatehouse.advance_clock(1)
        callback = self.gatehouse.allow(began.url)

        self.app.finish_authorization(callback, state=began.state, code_verifier=began.code_verifier)

    def test_a_wrong_verifier_is_rejected_with_its_reason(self) -> None:
        began = self.app.begin_authorization(scopes=["read:invoices"])
        other = self.app.begin_authorization(scopes=["read:invoices"])

        with self.assertRaises(GatehouseError) as caught:
            self.app.finish_authorization(
                self.gatehouse.allow(began.url), state=began.state, code_verifier=other.code_verifier
            )

        self.assertEqual(
            (caught.exception.status, caught.exception.code, caught.exception.reason),
            (400, "invalid_grant", "code_verifier_wrong"),
        )

    def test_a_refresh_gives_a_new_pair_and_may_narrow_the_scopes(self) -> None:
        first = self.gatehouse.connect(["read:invoices", "write:invoices"])

        second = self.app.refresh(first.refresh_token)
        third = self.app.refresh(second.refresh_token, scopes=["read:invoices"])

        self.assertEqual(len({first.refresh_token, second.refresh_token, third.refresh_token}), 3)
        self.assertEqual(set(second.scopes), {"read:invoices", "write:invoices"})
        self.assertEqual(third.scopes, ("read:invoices",))

    def test_introspection_describes_a_token_until_it_is_revoked(self) -> None:
        tokens = self.gatehouse.connect()
        seen = self.app.introspect(tokens.access_token)
        # A type checker follows this, too.
        assert seen.active is True
        self.assertEqual(seen.scopes, ("read:invoices",))
        self.assertEqual((seen.client_id, seen.business_id), (self.gatehouse.client_id, self.gatehouse.business_id))
        self.assertEqual(seen.token_type, "bearer")
        self.assertEqual(seen.expires_at - seen.issued_at, timedelta(hours=1))
        self.assertEqual((seen.issued_at.tzinfo, seen.grant_expires_at), (timezone.utc, None))
        self.assertTrue(seen.user_id)

        self.app.revoke(tokens.access_token)
        self.assertEqual(self.app.introspect(tokens.access_token), InactiveToken())
        self.assertTrue(self.app.introspect(tokens.refresh_token).active)

        self.app.revoke(tokens.refresh_token)
        self.assertFalse(self.app.introspect(tokens.refresh_token).active)
        self.app.revoke(tokens.refresh_token)

    def test_an_error_has_all_fields_of_the_response(self) -> None:
        tokens = self.gatehouse.connect()
        self.app.revoke(tokens.refresh_token)

        with self.assertRaises(GatehouseError) as caught:
            self.app.refresh(tokens.refresh_token)

        error = caught.exception
        self.assertEqual((error.status, error.code, error.reason), (400, "invalid_grant", "revoked_by_app"))
        self.assertTrue(error.request_id)
        self.assertEqual(error.uri, f"{self.gatehouse.base_url}/docs/errors/invalid_grant#revoked_by_app")
        self.assertEqual(str(error), f"invalid_grant: {error.description} (request {error.request_id})")
        self.assertIsNone(error.retry_after)

    def test_a_refresh_token_that_is_replayed_late_ends_the_grant_and_says_so(self) -> None:
        tokens = self.gatehouse.connect()
        newer = self.app.refresh(tokens.refresh_token)
        self.app.introspect(newer.access_token)
        self.gatehouse.advance_clock(31)

        with self.assertRaises(GatehouseError) as caught:
            self.app.refresh(tokens.refresh_token)

        self.assertEqual(caught.exception.reason, "refresh_token_reused")
