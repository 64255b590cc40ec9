import base64
import json
import unittest
from datetime import datetime, timedelta, timezone
from itertools import islice
from typing import Any

from gatehouse_client import (
    EVENT_TYPES,
    Api,
    App,
    GatehouseError,
    GrantCreated,
    GrantRevoked,
    InvoicePaid,
    SecretAdded,
    UnknownEvent,
)
from tests.faulty_server import FaultyServer, reply
from tests.gatehouse import get_gatehouse
from tests.times import EPOCH

SENT = {"id": "e1", "type": "order.shipped", "timestamp": "2030-01-01T00:00:00.500Z", "data": {"orderId": "o1"}}


def new_app(base_url: str, client_id: str = "c1", client_secret: str = "gcs_secret") -> App:
    return App(
        base_url=base_url, client_id=client_id, client_secret=client_secret, redirect_uri="http://127.0.0.1/callback"
    )


class Events(unittest.TestCase):
    def test_events_returns_every_event_once_oldest_first_across_pages_of_any_size(self) -> None:
        gatehouse = get_gatehouse()
        for _ in range(3):
            gatehouse.connect()
        gatehouse.disconnect()
        gatehouse.advance_clock(20)
        app = gatehouse.app()

        whole = list(app.events())

        self.assertIsInstance(whole[0], SecretAdded)
        self.assertGreaterEqual(sum(isinstance(event, GrantCreated) for event in whole), 3)
        self.assertEqual([event.timestamp for event in whole], sorted(event.timestamp for event in whole))
        self.assertEqual(len({event.id for event in whole}), len(whole))
        self.assertEqual(list(app.events(page_size=2)), whole)
        self.assertEqual(list(app.events(after=whole[1].id, page_size=200)), whole[2:])
        page = app.event_page(limit=2)
        self.assertEqual(list(page.events), whole[:2])
        self.assertEqual(app.event_page(limit=1, cursor=page.next_cursor).events, (whole[2],))

    def test_the_class_of_an_event_says_what_its_data_holds(self) -> None:
        gatehouse = get_gatehouse()
        gatehouse.connect()
        gatehouse.disconnect()
        gatehouse.advance_clock(20)

        revoked = [event for event in gatehouse.app().events() if isinstance(event, GrantRevoked)]
        created = [event for event in gatehouse.app().events() if event.type == "grant.created"]

        self.assertEqual(revoked[-1].data["reason"], "disconnected_by_user")
        self.assertEqual(revoked[-1].data["businessId"], gatehouse.business_id)
        self.assertTrue(any(event.data["grantId"] == revoked[-1].data["grantId"] for event in created))

    def test_an_event_of_an_unknown_type_is_an_unknown_event(self) -> None:
        with FaultyServer(reply(200, [SENT])) as server:
            [event] = new_app(server.base_url).events()

        self.assertEqual(
            event, UnknownEvent(id="e1", type="order.shipped", timestamp=datetime(2030, 1, 1, 0, 0, 0, 500_000, timezone.utc), data={"orderId": "o1"})
        )

    def test_an_invalid_page_of_events_is_invalid(self) -> None:
        changes: tuple[dict[str, Any], ...] = (
            {"id": 1},
            {"type": ""},
            {"timestamp": "yesterday"},
            {"timestamp": "2030-13-01T00:00:00Z"},
            {"data": []},
        )
        for body in (SENT, *([SENT | change] for change in changes)):
            with self.subTest(body=body), FaultyServer(reply(200, body)) as server:
                with self.assertRaises(GatehouseError) as caught:
                    list(new_app(server.base_url).events())
                self.assertEqual(caught.exception.code, "invalid_response")

    def test_pages_of_events_that_form_a_cycle_end_in_an_error(self) -> None:
        link = '</api/v1/events?cursor=e1>; rel="next"'
        with FaultyServer(reply(200, [SENT], link=link)) as server:
            events = new_app(server.base_url).events()
            with self.assertRaises(GatehouseError) as caught:
                list(islice(events, 5))

        self.assertEqual(caught.exception.code, "invalid_response")
        self.assertEqual(len(server.requests), 2)

    def test_the_credentials_are_encoded_as_rfc_6749_says(self) -> None:
        with FaultyServer(reply(200, [])) as server:
            list(new_app(server.base_url, "a:b", "ü%").events())

        expected = base64.b64encode(b"a%3Ab:%C3%BC%25")
        self.assertIn(b"authorization: basic " + expected.lower(), server.requests[0].lower())

    def test_a_wrong_argument_of_events_is_rejected_at_once(self) -> None:
        app = new_app("http://127.0.0.1:1")
        for arguments in ({"after": ""}, {"page_size": 0}, {"page_size": 201}):
            with self.subTest(arguments), self.assertRaises(ValueError):
                app.events(**arguments)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]

    def test_the_known_types_are_those_of_the_server(self) -> None:
        gatehouse = get_gatehouse()
        self.assertEqual(list(EVENT_TYPES), json.loads(gatehouse.event_types))
        self.assertEqual(InvoicePaid.__dataclass_fields__["type"].default, "invoice.paid")


class MeTest(unittest.TestCase):
    def test_me_returns_the_user_and_business_of_the_token(self) -> None:
        gatehouse = get_gatehouse()
        tokens = gatehouse.connect()

        me = Api(base_url=gatehouse.base_url, access_token=tokens.access_token).me()

        self.assertEqual((me.business.id, me.business.name), (gatehouse.business_id, "Acme"))
        self.assertEqual((me.app.id, me.app.name), (gatehouse.client_id, "Snake"))
        self.assertEqual(me.scopes, ("read:invoices",))
        self.assertIn("@", me.user.email)
        self.assertIs(me.user.email_verified, True)
        self.assertGreater(me.granted_at, EPOCH + timedelta(days=365))
        self.assertEqual(me.granted_at.tzinfo, timezone.utc)

    def test_a_response_of_another_shape_is_invalid(self) -> None:
        sound = {
            "user": {"id": "u1", "name": "Ada", "email": "a@b.c", "emailVerified": True},
            "business": {"id": "b1", "name": "Acme"},
            "app": {"id": "c1", "name": "Snake"},
            "scopes": ["read:invoices"],
            "grantedAt": "2030-01-01T00:00:00.000Z",
        }
        for change in ({"user": None}, {"app": {"id": 1}}, {"scopes": "x"}, {"scopes": [1]}, {"grantedAt": "now"}):
            with self.subTest(change=change), FaultyServer(reply(200, sound | change)) as server:
                with self.assertRaises(GatehouseError) as caught:
                    Api(base_url=server.base_url, access_token="gat_1").me()
                self.assertEqual(caught.exception.code, "invalid_response")
