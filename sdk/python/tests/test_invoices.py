import unittest
from decimal import Decimal
from itertools import islice
from typing import cast
from uuid import uuid4

from gatehouse_client import Api, GatehouseError, InvoiceStatus
from tests.faulty_server import FaultyServer, reply
from tests.relay import Relay
from tests.gatehouse import get_gatehouse

INVOICES = "/api/v1/accounting/invoices"
WIRE = {
    "id": "i1",
    "number": "INV-1",
    "status": "SENT",
    "total": "10.50",
    "currency": "GBP",
    "customerId": "contact-1",
    "issueDate": "2030-01-01",
    "dueDate": "2030-01-31",
    "subtotal": "10.50",
    "tax": "0.00",
    "amountPaid": "0.00",
    "amountDue": "10.50",
    "createdAt": "2030-01-01T00:00:00.000Z",
    "updatedAt": "2030-01-01T00:00:00.000Z",
}


class Invoices(unittest.TestCase):
    def setUp(self) -> None:
        self.gatehouse = get_gatehouse()

    def api(self, base_url: str | None = None) -> Api:
        return Api(base_url=base_url or self.gatehouse.base_url, access_token=self.gatehouse.connect().access_token)

    def test_following_the_pages_lists_every_invoice_once_newest_first(self) -> None:
        invoices = list(self.api().invoices(self.gatehouse.business_id, page_size=50))

        self.assertEqual([invoice.number for invoice in invoices], [f"INV-{i}" for i in range(120, 0, -1)])
        self.assertEqual(len({invoice.id for invoice in invoices}), 120)
        self.assertEqual((invoices[0].status, invoices[0].currency), ("PAID", "GBP"))
        self.assertEqual(invoices[0].customer_id, "contact-1")

    def test_a_total_is_exact_at_any_size_and_keeps_its_zeros(self) -> None:
        *_, newer, first = self.api().invoices(self.gatehouse.business_id)

        self.assertEqual(first.total, Decimal("123456789012345678901234567890.90"))
        self.assertEqual(str(first.total), "123456789012345678901234567890.90")
        self.assertEqual(str(newer.total), "1234.50")

    def test_the_next_page_is_fetched_only_when_needed_and_from_the_same_server(self) -> None:
        with Relay(self.gatehouse.base_url) as relay:
            invoices = self.api(relay.base_url).invoices(self.gatehouse.business_id, page_size=10)
            self.assertEqual(relay.count(INVOICES), 0)

            self.assertEqual(len(list(islice(invoices, 10))), 10)
            self.assertEqual(relay.count(INVOICES), 1)
            next(invoices)
            self.assertEqual(relay.count(INVOICES), 2)

            # The links in the responses name the real server, not this one.
            self.assertEqual(len(list(invoices)), 109)
            self.assertEqual(relay.count(INVOICES), 12)

    def test_a_page_at_a_time_leads_to_the_next_by_its_cursor(self) -> None:
        api = self.api()
        first = api.invoice_page(self.gatehouse.business_id, limit=100)
        second = api.invoice_page(self.gatehouse.business_id, limit=100, cursor=first.next_cursor)

        self.assertEqual((len(first.invoices), len(second.invoices)), (100, 20))
        self.assertIsNone(second.next_cursor)

    def test_status_filters_also_across_pages(self) -> None:
        api = self.api()
        paid = list(api.invoices(self.gatehouse.business_id, status="PAID", page_size=15))

        self.assertEqual(len(paid), 40)
        self.assertEqual({invoice.status for invoice in paid}, {"PAID"})
        self.assertEqual(len(api.invoice_page(self.gatehouse.business_id, status="VOID").invoices), 0)

    def test_a_rejected_request_has_its_reason(self) -> None:
        api = self.api()
        ours = self.gatehouse.business_id
        cases = (
            (lambda: api.invoice_page(str(uuid4())), 403, "business_mismatch", "business_mismatch"),
            (lambda: api.invoice_page(ours, status=cast(InvoiceStatus, "LOST")), 400, "invalid_request", "value_not_allowed"),
            (lambda: api.invoice_page(ours, cursor="x y"), 400, "invalid_request", "value_not_allowed"),
        )
        for call, status, code, reason in cases:
            with self.subTest(code=code), self.assertRaises(GatehouseError) as caught:
                call()
            error = caught.exception
            self.assertEqual((error.status, error.code, error.reason), (status, code, reason))

    def test_an_expired_token_without_refresh_token_is_an_error(self) -> None:
        tokens = self.gatehouse.connect()
        self.gatehouse.advance_clock(3601)
        with Relay(self.gatehouse.base_url) as relay:
            api = Api(base_url=relay.base_url, access_token=tokens.access_token)
            with self.assertRaises(GatehouseError) as caught:
                api.businesses()
            self.assertEqual(relay.paths, ["/api/v1/businesses"])

        self.assertEqual((caught.exception.status, caught.exception.code), (401, "invalid_token"))
        self.assertEqual(caught.exception.reason, "access_token_expired")

    def test_the_cursor_is_found_however_the_link_is_written(self) -> None:
        elsewhere = "https://evil.example/steal?limit=9&cursor=c%2B1&x=y"
        for link in (
            f'<{elsewhere}>; rel="next"',
            f"<{elsewhere}>;rel=next",
            f'<https://x.example/?cursor=first>; rel="first", <{elsewhere}>; title="a, b"; rel="last Next"',
        ):
            with self.subTest(link=link), FaultyServer(reply(200, [WIRE], Link=link), reply(200, [])) as server:
                invoices = list(Api(base_url=server.base_url, access_token="t").invoices(self.gatehouse.business_id))

                self.assertEqual([invoice.number for invoice in invoices], ["INV-1"])
                self.assertTrue(server.requests[1].startswith(f"GET {INVOICES}?cursor=c%2B1 ".encode()))

    def test_other_links_are_ignored_and_one_without_a_cursor_is_an_error(self) -> None:
        with FaultyServer(reply(200, [WIRE], Link='</a?cursor=1>; rel="prev"')) as server:
            api = Api(base_url=server.base_url, access_token="t")
            self.assertIsNone(api.invoice_page(self.gatehouse.business_id).next_cursor)
        with FaultyServer(reply(200, [WIRE], Link='</a?page=2>; rel="next"')) as server:
            with self.assertRaises(GatehouseError) as caught:
                Api(base_url=server.base_url, access_token="t").invoice_page(self.gatehouse.business_id)
            self.assertEqual(caught.exception.code, "invalid_response")

    def test_pages_that_form_a_cycle_end_in_an_error(self) -> None:
        for circle in (["a"], ["a", "b"], ["a", "b", "c"]):
            pages = [reply(200, [WIRE], Link=f"<?cursor={cursor}>; rel=next") for cursor in [*circle, circle[0]]]
            with self.subTest(circle=circle), FaultyServer(*pages, reply(500)) as server:
                invoices = Api(base_url=server.base_url, access_token="t").invoices(self.gatehouse.business_id)
                with self.assertRaises(GatehouseError) as caught:
                    list(invoices)
                self.assertEqual((caught.exception.code, caught.exception.status), ("invalid_response", 200))
                self.assertEqual(len(server.requests), len(pages))

    def test_unknown_fields_are_ignored_and_missing_ones_are_an_error(self) -> None:
        with FaultyServer(reply(200, [WIRE | {"dueAt": "2031-01-01", "lines": [1]}])) as server:
            page = Api(base_url=server.base_url, access_token="t").invoice_page(self.gatehouse.business_id)
            self.assertEqual(page.invoices[0].total, Decimal("10.50"))
        for changes in ({"total": 10.5}, {"total": "NaN"}, {"total": "1e3"}, {"id": None}, {"customerId": 7}):
            with self.subTest(changes=changes), FaultyServer(reply(200, [WIRE | changes])) as server:
                with self.assertRaises(GatehouseError) as caught:
                    Api(base_url=server.base_url, access_token="t").invoice_page(self.gatehouse.business_id)
                self.assertEqual((caught.exception.code, caught.exception.status), ("invalid_response", 200))
