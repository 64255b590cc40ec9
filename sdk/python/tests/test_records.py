import datetime as dt
import importlib.util
import unittest
from collections.abc import Callable
from decimal import Decimal
from unittest.mock import patch
from uuid import UUID, uuid4

from gatehouse_client import Api, BusinessApi, ContactCreated, DealWon, FieldError, GatehouseError, Scope, Tokens
from tests.faulty_server import FaultyServer, hang_up, reply
from tests.gatehouse import Gatehouse, get_gatehouse
from tests.relay import Relay

HAS_HTTPX = importlib.util.find_spec("httpx") is not None
SCOPES: list[Scope] = [
    *("read:invoices", "write:invoices", "read:contacts", "write:contacts", "read:deals", "write:deals"),
    *("read:expenses", "read:reports", "read:employees", "read:orders"),
]
RECORD_ID = "0190a4c2-0000-7000-8000-000000000001"
BUSY = {"error": "temporarily_unavailable", "error_description": "Later."}
CONTACT = {
    "id": RECORD_ID,
    "name": "Mara",
    "status": "ACTIVE",
    "email": None,
    "phone": None,
    "jobTitle": None,
    "companyId": None,
    "createdAt": "2030-01-01T00:00:00.000Z",
    "updatedAt": "2030-01-01T00:00:00.500Z",
    "notes": None,
}

_tokens: list[Tokens] = []


def connect() -> tuple[Gatehouse, str]:
    """One grant for all tests of this file: each sign-in costs time."""
    gatehouse = get_gatehouse("business")
    if not _tokens:
        _tokens.append(gatehouse.connect(SCOPES))
    return gatehouse, _tokens[0].access_token


class RecordCase(unittest.TestCase):
    def setUp(self) -> None:
        self.gatehouse, token = connect()
        self.acme: BusinessApi = Api(base_url=self.gatehouse.base_url, access_token=token).business(
            self.gatehouse.business_id
        )

    def failure_of(self, call: Callable[[], object]) -> GatehouseError:
        with self.assertRaises(GatehouseError) as caught:
            call()
        return caught.exception

    def draft(self) -> str:
        customer = self.acme.contacts.create(name="Mara")
        return self.acme.invoices.create(
            currency="GBP",
            customer_id=customer.id,
            due_date=dt.date(2031, 2, 1),
            lines=[{"description": "Beans", "quantity": Decimal(12), "unit_price": "7.50", "tax_rate": "20"}],
        ).id


class Records(RecordCase):
    def test_every_kind_of_record_can_be_listed_and_a_missing_one_is_not_found(self) -> None:
        acme = self.acme
        kinds = (acme.companies, acme.contacts, acme.deals, acme.employees, acme.expense_categories, acme.expenses)
        for records in (*kinds, acme.invoices, acme.orders):
            self.assertIsInstance(list(records.list(sort="-updated_at")), list)
            self.assertEqual(self.failure_of(lambda: records.get(str(uuid4()))).code, "not_found")

    def test_a_record_is_created_read_updated_and_archived_and_has_its_etag(self) -> None:
        company = self.acme.companies.create(name="Northwind", country="GB")
        created = self.acme.contacts.create(name="Ida", job_title="Buyer", company_id=company.id)
        changed = self.acme.contacts.update(created.id, if_match=created.etag, company_id=None)
        archived = self.acme.contacts.archive(created.id, if_match=changed.etag)

        self.assertEqual((created.company_id, changed.company_id, changed.job_title), (company.id, None, "Buyer"))
        self.assertEqual(self.acme.contacts.get(created.id), archived)
        self.assertEqual(created.created_at.tzinfo, dt.timezone.utc)
        self.assertEqual(self.acme.contacts.restore(created.id).status, "ACTIVE")
        late = self.failure_of(lambda: self.acme.contacts.update(created.id, if_match=created.etag, name="Eve"))
        self.assertEqual((late.status, late.code, late.reason), (412, "precondition_failed", "etag_mismatch"))

    def test_an_invoice_is_sent_and_paid_and_another_one_voided(self) -> None:
        invoice_id = self.draft()
        sent = self.acme.invoices.send(invoice_id)
        part = self.acme.invoices.pay(invoice_id, amount=Decimal("8"), method="Card", date="2030-01-02")
        paid = self.acme.invoices.pay(invoice_id)

        self.assertEqual((sent.status, sent.due_date, part.amount_due), ("SENT", dt.date(2031, 2, 1), Decimal("100.00")))
        self.assertEqual((paid.status, str(paid.total), paid.lines[0].unit_price), ("PAID", "108.00", Decimal("7.50")))
        first, second = paid.payments
        self.assertEqual((first.date, first.method, second.amount), (dt.date(2030, 1, 2), "Card", Decimal(100)))
        self.assertEqual(self.acme.invoices.void(self.draft()).status, "VOID")

    def test_a_deal_moves_through_the_pipeline(self) -> None:
        deal = self.acme.deals.create(title="Machines", amount="18400", currency="GBP")
        moved = self.acme.deals.move(deal.id, stage="PROPOSAL")
        stages = {stage.stage: stage for stage in self.acme.deals.pipeline()}
        lost = self.acme.deals.lose(deal.id, reason="Too dear")
        reopened = self.acme.deals.reopen(deal.id)
        won = self.acme.deals.win(deal.id)

        self.assertEqual((moved.stage, lost.lost_reason, reopened.stage), ("PROPOSAL", "Too dear", "NEGOTIATION"))
        self.assertEqual(won.stage, "WON")
        self.assertEqual(stages["PROPOSAL"].amounts[0].amount, Decimal("18400.00"))

    def test_lists_follow_their_pages_filtered_and_sorted(self) -> None:
        company = self.acme.companies.create(name="Pages")
        for name in "ABCDE":
            self.gatehouse.advance_clock(1)
            self.acme.contacts.create(name=name, company_id=company.id)
        listed = self.acme.contacts.list(company_id=company.id, status="ACTIVE", sort="created_at", limit=2)
        first = self.acme.contacts.list_page(company_id=company.id, sort="created_at", limit=2)
        second = self.acme.contacts.list_page(
            company_id=company.id, sort="created_at", limit=2, cursor=first.next_cursor
        )

        self.assertEqual([contact.name for contact in listed], ["A", "B", "C", "D", "E"])
        self.assertEqual([contact.name for contact in first.items + second.items], ["A", "B", "C", "D"])
        self.assertEqual(list(self.acme.contacts.list(until=dt.date(2001, 1, 1))), [])

    def test_the_reports_are_exact_decimals_of_their_period(self) -> None:
        self.acme.invoices.send(self.draft())
        year = self.acme.reports.profit_and_loss(from_="2020-01-01", to=dt.date(2020, 12, 31))
        balance = self.acme.reports.balance()
        aged = self.acme.reports.aged_receivables(as_of=balance.as_of)

        self.assertEqual((year.from_, year.currencies), (dt.date(2020, 1, 1), ()))
        self.assertEqual(aged.currencies[0].total, balance.currencies[0].receivables)
        self.assertIsInstance(aged.currencies[0].days1_to30, Decimal)

    def test_an_error_names_every_wrong_field_or_the_state_and_what_it_allows(self) -> None:
        invalid = self.failure_of(lambda: self.acme.deals.create(title="", amount="many", currency="GBP"))
        invoice_id = self.draft()
        early = self.failure_of(lambda: self.acme.invoices.pay(invoice_id))

        self.assertEqual(invalid.reason, "fields_invalid")
        self.assertEqual(sorted(error.field for error in invalid.errors), ["amount", "title"])
        self.assertEqual((early.code, early.state, early.allowed), ("conflict", "DRAFT", ("send", "void")))
        self.assertEqual((invalid.state, invalid.allowed, early.errors), (None, None, ()))

    def test_a_create_whose_response_was_lost_is_repeated_and_makes_one_record(self) -> None:
        company = self.acme.companies.create(name="Once")
        with Relay(self.gatehouse.base_url) as relay:
            relay.lose_next("/api/v1/crm/contacts")
            api = Api(base_url=relay.base_url, access_token=connect()[1])
            contact = api.business(self.gatehouse.business_id).contacts.create(name="Only", company_id=company.id)
            self.assertEqual(relay.count("/api/v1/crm/contacts"), 2)

        self.assertEqual([found.id for found in self.acme.contacts.list(company_id=company.id)], [contact.id])

    def test_changes_of_records_are_events_of_their_own_classes(self) -> None:
        contact = self.acme.contacts.create(name="Evan")
        deal = self.acme.deals.create(title="Mugs", amount="10", currency="GBP")
        self.acme.deals.win(deal.id)
        self.gatehouse.spread_happenings()
        self.gatehouse.advance_clock(20)
        events = list(self.gatehouse.app().events())

        names = [event.data["name"] for event in events if isinstance(event, ContactCreated)]
        self.assertIn(contact.name, names)
        self.assertIn("Mugs", [event.data["title"] for event in events if isinstance(event, DealWon)])


class RecordTroubles(unittest.TestCase):
    def setUp(self) -> None:
        patched = patch("gatehouse_client._retries.random.uniform", return_value=0.0)
        patched.start()
        self.addCleanup(patched.stop)

    def test_every_attempt_of_a_write_has_the_same_idempotency_key_and_every_call_another(self) -> None:
        created = reply(201, CONTACT, ETag='"1"')
        with FaultyServer(hang_up, reply(503, BUSY, Retry_After="0"), created) as server:
            contacts = Api(base_url=server.base_url, access_token="t").business(RECORD_ID).contacts
            contacts.create(name="Mara")
            contacts.create(name="Mara")
            contacts.create(name="Mara", idempotency_key="mine")

        keys = [header(request, "idempotency-key") for request in server.requests]
        self.assertEqual(len(set(keys[:3])), 1)
        self.assertEqual(str(UUID(keys[0])), keys[0])
        self.assertNotEqual(keys[3], keys[0])
        self.assertEqual(keys[4], "mine")

    def test_a_record_that_is_incomplete_is_invalid(self) -> None:
        broken = (
            reply(200, CONTACT),
            reply(200, [], ETag='"1"'),
            *(
                reply(200, CONTACT | changes, ETag='"1"')
                for changes in ({"id": 1}, {"name": None}, {"createdAt": "yesterday"}, {"email": 7})
            ),
        )
        for response in broken:
            with self.subTest(response=response), FaultyServer(response) as server:
                contacts = Api(base_url=server.base_url, access_token="t").business(RECORD_ID).contacts
                with self.assertRaises(GatehouseError) as caught:
                    contacts.get(RECORD_ID)
                self.assertEqual(caught.exception.code, "invalid_response")

    def test_wrong_arguments_are_errors_before_anything_is_sent(self) -> None:
        with FaultyServer(reply(500)) as server:
            api = Api(base_url=server.base_url, access_token="t")
            contacts = api.business(RECORD_ID).contacts
            calls: tuple[Callable[[], object], ...] = (
                lambda: api.business("acme"),
                lambda: contacts.list(limit=0),
                lambda: contacts.get("../companies"),
                lambda: contacts.create(name="Mara", idempotency_key="two words"),
                lambda: contacts.update(RECORD_ID, if_match="", name="Mara"),
            )
            for call in calls:
                with self.assertRaises(ValueError):
                    call()
            self.assertEqual(server.requests, [])

    def test_an_error_keeps_its_details_when_it_is_pickled(self) -> None:
        error = GatehouseError("conflict", "No.", errors=[FieldError("a", "b")], state="DRAFT", allowed=["send"])
        kind, values = error.__reduce__()
        copy = kind(*values)  # type: ignore[arg-type]

        self.assertEqual((copy.errors, copy.state, copy.allowed), (error.errors, "DRAFT", ("send",)))


@unittest.skipUnless(HAS_HTTPX, "httpx is not installed")
class AsynchronousRecords(unittest.IsolatedAsyncioTestCase):
    async def test_tasks_create_list_change_and_report_like_threads(self) -> None:
        from gatehouse_client import AsyncApi

        gatehouse, token = connect()
        async with AsyncApi(base_url=gatehouse.base_url, access_token=token) as api:
            acme = api.business(gatehouse.business_id)
            company = await acme.companies.create(name="Async")
            for name in "ABC":
                await acme.contacts.create(name=name, company_id=company.id)
            names = [contact.name async for contact in acme.contacts.list(company_id=company.id, limit=1)]
            page = await acme.contacts.list_page(company_id=company.id, limit=2)
            changed = await acme.companies.update(company.id, if_match=company.etag, country="SE")
            deal = await acme.deals.create(title="Cups", amount=Decimal("2.50"), currency="EUR")
            lost = await acme.deals.lose(deal.id, reason="Too dear")
            stages = await acme.deals.pipeline()
            balance = await acme.reports.balance(as_of="2030-06-30")
            with self.assertRaises(GatehouseError) as caught:
                await acme.companies.restore(company.id)

            self.assertEqual(sorted(names), ["A", "B", "C"])
            self.assertEqual((len(page.items), page.next_cursor is None), (2, False))
            self.assertEqual(await acme.companies.get(company.id), changed)
        self.assertEqual((str(deal.amount), lost.lost_reason), ("2.50", "Too dear"))
        self.assertEqual([stage.stage for stage in stages][-1], "LOST")
        self.assertEqual(balance.as_of, dt.date(2030, 6, 30))
        self.assertEqual((caught.exception.state, caught.exception.allowed), ("ACTIVE", ("archive",)))


def header(request: bytes, name: str) -> str:
    lines = request.decode().split("\r\n")
    return next(line.partition(":")[2].strip() for line in lines if line.lower().startswith(f"{name}:"))
