"""The running Gatehouse, with a signed-in user and a clock that tests control."""

import json
import os
import unittest
from dataclasses import dataclass, field
from typing import Any
from urllib.request import ProxyHandler, Request, build_opener

from gatehouse_client import App, Scope, Tokens

_opener = build_opener(ProxyHandler({}))


@dataclass(frozen=True)
class Gatehouse:
    control: str
    base_url: str
    client_id: str
    client_secret: str = field(repr=False)
    redirect_uri: str
    business_id: str
    event_types: str
    pages_url: str = ""

    def app(self, base_url: str | None = None, timeout: float = 30.0) -> App:
        """The registered app, optionally with another base URL."""
        return App(
            base_url=base_url or self.base_url,
            client_id=self.client_id,
            client_secret=self.client_secret,
            redirect_uri=self.redirect_uri,
            timeout=timeout,
        )

    def connect(self, scopes: list[Scope] | None = None) -> Tokens:
        app = self.app()
        began = app.begin_authorization(scopes=scopes or ["read:invoices"])
        return app.finish_authorization(self.allow(began.url), state=began.state, code_verifier=began.code_verifier)

    def allow(self, url: str) -> str:
        return self._ask("allow", url=url)["callback"]

    def deny(self, url: str) -> str:
        return self._ask("deny", url=url)["callback"]

    def visit_signed_out(self, url: str) -> str:
        return self._ask("visit-signed-out", url=url)["callback"]

    def disconnect(self) -> None:
        self._ask("disconnect")

    def disable_app(self) -> None:
        self._ask("disable-app")

    def enable_app(self) -> None:
        self._ask("enable-app")

    def spread_happenings(self) -> None:
        self._ask("spread-happenings")

    def advance_clock(self, seconds: int) -> None:
        self._ask("advance-clock", seconds=seconds)

    def _ask(self, deed: str, **fields: object) -> dict[str, Any]:
        request = Request(f"{self.control}/{deed}", data=json.dumps(fields).encode())
        with _opener.open(request, timeout=30) as response:
            return json.load(response)


def get_gatehouse(name: str = "usual") -> Gatehouse:
    facts = os.environ.get("GATEHOUSE_SERVERS")
    if facts is None:
        raise unittest.SkipTest("it needs a running Gatehouse: npm test -- test/sdk/python.test.ts starts one")
    return Gatehouse(**json.loads(facts)[name])
