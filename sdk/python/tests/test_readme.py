import asyncio
import importlib.util
import json
import os
import re
import stat
import subprocess
import sys
import tempfile
import unittest
from contextlib import redirect_stdout
from decimal import Decimal
from http.client import HTTPConnection, HTTPResponse
from io import StringIO
from pathlib import Path
from typing import Any
from unittest.mock import patch
from urllib.parse import urlsplit

from gatehouse_client import Api, GrantRevoked, InvoiceDetail, InvoicePaid, Scope, Tokens
from tests.gatehouse import get_gatehouse

ROOT = Path(__file__).resolve().parent.parent
WEB_APP, RECORDS, ASYNC, EVENTS, STORE = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)


class Readme(unittest.TestCase):
    def setUp(self) -> None:
        self.gatehouse = get_gatehouse()
        self.cookie = ""

    def run_web_app(self) -> None:
        # No other test process gets this port.
        self.port = int(os.environ["FREE_PORT"])
        facts = {
            "BASE_URL": self.gatehouse.base_url,
            "CLIENT_ID": self.gatehouse.client_id,
            "CLIENT_SECRET": self.gatehouse.client_secret,
            "PYTHONPATH": str(ROOT / "src"),
        }
        program = subprocess.Popen(
            [sys.executable, "-c", WEB_APP.replace("8080", str(self.port))],
            env=dict(os.environ) | facts,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(self.stop, program)
        assert program.stdout is not None
        self.assertEqual(program.stdout.readline(), f"Open http://127.0.0.1:{self.port}\n")

    def stop(self, program: "subprocess.Popen[str]") -> None:
        program.terminate()
        _, logged = program.communicate()
        self.assertEqual(logged, "")

    def visit(self, path: str, cookie: str | None = None) -> tuple[HTTPResponse, str]:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request("GET", path, headers={"cookie": self.cookie if cookie is None else cookie})
            response = connection.getresponse()
            text = response.read().decode()
        finally:
            connection.close()
        self.assertEqual(response.headers["content-type"], "text/plain; charset=utf-8")
        self.assertEqual(response.headers["x-content-type-options"], "nosniff")
        self.cookie = response.headers["set-cookie"].partition(";")[0]
        return response, text

    def leave(self) -> str:
        """Where the app sends a visitor who is not connected."""
        response, _ = self.visit("/")
        address = response.headers["location"]
        self.assertTrue(address.startswith(f"{self.gatehouse.base_url}/api/v1/oauth/authorize?"), address)
        return address

    def come_back(self, callback: str) -> tuple[HTTPResponse, str]:
        self.assertTrue(callback.startswith(f"http://127.0.0.1:{self.port}/callback?"), callback)
        parts = urlsplit(callback)
        return self.visit(f"{parts.path}?{parts.query}")

    def test_the_web_app_of_the_readme_works_as_it_is_written(self) -> None:
        self.run_web_app()
        callback = self.gatehouse.allow(self.leave())
        # A code that is sent twice would end what it gave.
        for _ in range(2):
            response, _ = self.come_back(callback)
            self.assertEqual((response.status, response.headers["location"]), (303, "/"))
            response, text = self.visit("/")
            self.assertEqual((response.status, len(text.splitlines())), (200, 120))
            self.assertEqual(text.splitlines()[0], "INV-120 1234.50 GBP")

        self.gatehouse.disconnect()
        response, _ = self.visit("/")
        self.assertEqual((response.status, response.headers["location"]), (303, "/"))
        self.leave()

    def test_the_web_app_of_the_readme_handles_deny_a_forged_callback_and_a_chosen_cookie(self) -> None:
        self.run_web_app()
        # A visitor who has allowed the app before sees no consent screen, and cannot deny.
        self.gatehouse.connect()
        self.gatehouse.disconnect()
        denied, text = self.come_back(self.gatehouse.deny(self.leave()))
        self.assertEqual((denied.status, text.partition(":")[0]), (502, "access_denied"))

        self.leave()
        forged, text = self.visit("/callback?code=x&state=y")
        self.assertEqual((forged.status, text.partition(":")[0]), (502, "state_mismatch"))

        for chosen in ("visitor=chosen", r'visitor="\015\012x-injected: yes"'):
            response, _ = self.visit("/", cookie=chosen)
            self.assertNotIn("chosen", self.cookie)
            self.assertIsNone(response.headers["x-injected"])
        self.assertEqual(self.visit("/favicon.ico")[0].status, 404)

    def test_the_token_file_of_the_readme_is_readable_only_by_its_owner(self) -> None:
        tokens = self.gatehouse.connect()
        given = {"app": self.gatehouse.app(), "tokens": tokens, "Tokens": Tokens, "Path": Path}
        names = given | {"json": json, "os": os, "tempfile": tempfile}
        with tempfile.TemporaryDirectory(prefix="gatehouse-test-") as folder:
            exec(STORE.replace('Path("tokens.json")', f"Path({folder!r}, 'tokens.json')"), names)
            check = "assert load() is None; save(tokens); save(tokens); assert load() == tokens; api.businesses()"
            exec(check, names)
            [file] = Path(folder).iterdir()
            self.assertEqual((file.name, stat.S_IMODE(file.stat().st_mode)), ("tokens.json", 0o600))


    @unittest.skipUnless(importlib.util.find_spec("httpx"), "httpx is not installed")
    def test_the_asynchronous_example_of_the_readme_lists_the_invoices(self) -> None:
        from gatehouse_client import AsyncApp

        facts = {"BASE_URL": self.gatehouse.base_url, "CLIENT_ID": self.gatehouse.client_id}
        with patch.dict(os.environ, facts | {"CLIENT_SECRET": self.gatehouse.client_secret}):
            names: dict[str, Any] = {"os": os, "AsyncApp": AsyncApp, "Tokens": Tokens, "save": repr}
            exec(ASYNC, names)
            with redirect_stdout(StringIO()) as printed:
                asyncio.run(names["print_invoices"](self.gatehouse.connect()))

        self.assertEqual(printed.getvalue().splitlines()[0], "INV-120 1234.50 GBP")
        self.assertEqual(len(printed.getvalue().splitlines()), 120)

    def test_the_records_of_the_readme_are_listed_created_and_changed(self) -> None:
        business = get_gatehouse("business")
        scopes: list[Scope] = ["read:invoices", "write:invoices", "read:contacts", "write:contacts"]
        api = Api(base_url=business.base_url, access_token=business.connect(scopes).access_token)
        names: dict[str, Any] = {"Api": Api, "Decimal": Decimal, "InvoiceDetail": InvoiceDetail}
        exec(RECORDS, names)
        with redirect_stdout(StringIO()):
            invoice = names["invoice_new_customer"](api, business.business_id)

        self.assertEqual((invoice.status, invoice.amount_due), ("SENT", Decimal("58.00")))

    def test_the_events_of_the_readme_are_read_to_their_end(self) -> None:
        self.gatehouse.connect()
        self.gatehouse.disconnect()
        self.gatehouse.advance_clock(20)
        app = self.gatehouse.app()
        names: dict[str, Any] = {"app": app, "last_id": None, "InvoicePaid": InvoicePaid, "GrantRevoked": GrantRevoked}
        with redirect_stdout(StringIO()) as printed:
            exec(EVENTS, names)

        self.assertIn("disconnected_by_user", printed.getvalue())
        self.assertEqual(names["last_id"], list(app.events())[-1].id)
