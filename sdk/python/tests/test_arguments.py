import unittest
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

from gatehouse_client import Api, App, Tokens
from tests.faulty_server import FaultyServer, reply
from tests.times import EPOCH

SECRET = "gcs_do-not-show-this"
BUSINESS = "0190a6c6-0000-7000-8000-000000000000"
Call = Callable[[Any], object]
GOOD_TOKENS: dict[str, Any] = {"access_token": "a", "refresh_token": "r", "expires_at": EPOCH, "scopes": ("x",)}


async def save_later(tokens: Tokens) -> None:
    pass


class SaveLater:
    async def __call__(self, tokens: Tokens) -> None:
        pass


class Arguments(unittest.TestCase):
    """Each is rejected before any request, by name, and without its value."""

    def setUp(self) -> None:
        self.server = FaultyServer(reply(500))
        self.server.__enter__()
        self.addCleanup(self.server.__exit__)
        self.settings: dict[str, Any] = {
            "base_url": self.server.base_url,
            "client_id": "c1",
            "client_secret": SECRET,
            "redirect_uri": "http://127.0.0.1/callback",
        }

    def refuse(self, name: str, call: Call, *values: Any, kinds: tuple[type[Exception], ...]) -> None:
        for value in values:
            with self.subTest(argument=name, value=value):
                with self.assertRaises(kinds) as caught:
                    call(value)
                self.assertIn(name, str(caught.exception))
                if isinstance(value, str) and len(value) > 8:
                    self.assertNotIn(value, str(caught.exception))
        self.assertEqual(self.server.requests, [])

    def refuse_types(self, name: str, call: Call, *values: Any) -> None:
        self.refuse(name, call, *values, kinds=(TypeError,))

    def refuse_values(self, name: str, call: Call, *values: Any) -> None:
        self.refuse(name, call, *values, kinds=(ValueError,))

    def test_base_url_is_an_origin_that_keeps_secrets_safe(self) -> None:
        def make(value: Any) -> None:
            App(**(self.settings | {"base_url": value}))

        self.refuse_types("base_url", make, None, 7, b"https://books.example")
        self.refuse_values(
            "base_url",
            make,
            "",
            "books.example",
            "ftp://books.example",
            "http://books.example",
            "http://127.0.0.1.example.com",
            "http://localhost@evil.example",
            "https://user:pass@books.example",
            "https://books.example/v1",
            "https://books.example//",
            "https://books.example?",
            "https://books.example#",
            "https://books.example:99999",
            "https://books.example:",
            "https://books..example",
            "https://-books.example",
            "https://books.example\n",
            " https://books.example",
            "https://exa mple.com",
            "https://bücher.example",
            "https://" + "a" * 64 + ".example",
            "https://" + "a." * 127 + "example",
            "https://",
        )
        for good, kept in (
            ("https://BOOKS.example/", "https://books.example"),
            ("https://books.example:443", "https://books.example"),
            ("https://books.example:8443", "https://books.example:8443"),
            ("http://localhost:80", "http://localhost"),
            ("http://[::1]:4000", "http://[::1]:4000"),
        ):
            self.assertEqual(repr(Api(base_url=good, access_token="t")), f"Api(base_url='{kept}')")

    def test_credentials_are_text_without_spaces(self) -> None:
        for name in ("client_id", "client_secret", "redirect_uri"):

            def make(value: Any, name: str = name) -> None:
                App(**(self.settings | {name: value}))

            self.refuse_types(name, make, None, 7, SECRET.encode())
            self.refuse_values(name, make, "", f"{SECRET} x", f"{SECRET}\n", f"{SECRET}\x00", f"{SECRET}\x7f")

    def test_redirect_uri_is_a_web_address_with_a_host_and_no_fragment(self) -> None:
        def make(value: Any) -> None:
            App(**(self.settings | {"redirect_uri": value}))

        self.refuse_values(
            "redirect_uri",
            make,
            "/callback",
            "callback",
            "127.0.0.1:8080/callback",
            "//127.0.0.1/callback",
            "http:/127.0.0.1/callback",
            "http:///callback",
            "http://:8080/callback",
            "http://user@/callback",
            "http://[::1/callback",
            "http://127.0.0.1:port/callback",
            "http://127.0.0.1:99999/callback",
            "javascript:alert(1)",
            "myapp://host/callback",
            "https://app.example/callback#",
            "https://app.example/callback#top",
        )
        for good in ("https://app.example", "HTTPS://app.example/a?b=c", "http://[::1]:8080/callback"):
            make(good)

    def test_a_missing_argument_is_named(self) -> None:
        for name in self.settings:
            with self.assertRaisesRegex(TypeError, name):
                App(**{key: value for key, value in self.settings.items() if key != name})

    def test_timeout_is_a_number_of_seconds_up_to_ten_minutes(self) -> None:
        def make(value: Any) -> None:
            App(**self.settings, timeout=value)

        self.refuse_types("timeout", make, None, "30", True)
        self.refuse_values("timeout", make, 0, -1, 600.1, float("nan"), float("inf"), 10**400)
        for good in (0.001, 1, 600):
            make(good)

    def test_scopes_are_a_list_of_names_and_prompt_is_one_of_two(self) -> None:
        app = App(**self.settings)

        def begin(value: Any) -> None:
            app.begin_authorization(scopes=value)

        def refresh(value: Any) -> None:
            app.refresh("grt_1", scopes=value)

        for call in (begin, refresh):
            self.refuse_types("scopes", call, "read:invoices", 7, {"read:invoices"}, [7], ["a", None])
            self.refuse_values("scopes", call, [], (), [""], ["a b"], ['a"'], ["a\\"], ["ä"], ["a\n"])
        self.refuse_types("scopes", begin, None)

        def begin_with_optional(value: Any) -> None:
            app.begin_authorization(scopes=["read:invoices"], optional_scopes=value)

        self.refuse_types("optional_scopes", begin_with_optional, "read:invoices", 7, [7])
        self.refuse_values("optional_scopes", begin_with_optional, [], [""], ["a b"])

        def ask(value: Any) -> None:
            app.begin_authorization(scopes=["read:invoices"], prompt=value)

        self.refuse_types("prompt", ask, True, ["none"])
        self.refuse_values("prompt", ask, "", "consent", "NONE")

    def test_state_and_verifier_are_text(self) -> None:
        app = App(**self.settings)
        good: dict[str, Any] = {"callback_url": "code=x", "state": "s1", "code_verifier": "v" * 43}
        for name in good:

            def finish(value: Any, name: str = name) -> None:
                app.finish_authorization(**(good | {name: value}))

            self.refuse_types(name, finish, None, 7, b"x")
            if name != "callback_url":
                self.refuse_values(name, finish, "", "a b", "a\nb")

    def test_tokens_are_visible_ascii(self) -> None:
        app = App(**self.settings)
        calls: dict[str, list[Call]] = {
            "refresh_token": [app.refresh, lambda value: Tokens(**(GOOD_TOKENS | {"refresh_token": value}))],
            "access_token": [
                lambda value: Api(base_url=self.server.base_url, access_token=value),
                lambda value: Tokens(**(GOOD_TOKENS | {"access_token": value})),
            ],
            "token": [app.revoke, app.introspect],
        }
        for name, those in calls.items():
            for call in those:
                self.refuse_types(name, call, None, 7, b"gat_1")
                self.refuse_values(name, call, "", "gat_1 ", "gat_\n", "gat_ä", "gat_1\r\nx-evil: 1")

    def test_tokens_have_an_expiry_and_scopes(self) -> None:
        def make(name: str, value: Any) -> Tokens:
            return Tokens(**(GOOD_TOKENS | {name: value}))

        self.refuse_types("expires_at", lambda value: make("expires_at", value), None, True, b"7", EPOCH.date())
        naive, too_late = datetime(2030, 1, 1), datetime.max.replace(tzinfo=timezone(timedelta(hours=-1)))
        wrong = (naive, too_late, "7", "2030-13-01T00:00:00Z", "2030-01-01T00:00:00", float("nan"), float("inf"), 1e15)
        self.refuse_values("expires_at", lambda value: make("expires_at", value), *wrong, 10**400)
        self.refuse_types("scopes", lambda value: make("scopes", value), None, "read:invoices", [7])
        self.refuse_values("scopes", lambda value: make("scopes", value), ["a b"])
        self.assertEqual(make("scopes", ["x"]).scopes, ("x",))
        east = EPOCH.astimezone(timezone(timedelta(hours=2)))
        for good in (EPOCH, east, 0, 0.0, "1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000Z"):
            tokens = make("expires_at", good)
            self.assertEqual((tokens.expires_at, tokens.expires_at.tzinfo), (EPOCH, timezone.utc))

    def test_stored_tokens_are_complete(self) -> None:
        self.refuse_types("stored tokens", Tokens.from_dict, None, "{}", [])
        self.refuse_values("refresh_token", Tokens.from_dict, {"access_token": "a", "expires_at": 0, "scopes": []})

    def test_an_api_needs_tokens_and_plain_functions(self) -> None:
        app = App(**self.settings)
        good: dict[str, Any] = {"tokens": Tokens(**GOOD_TOKENS), "save": print, "load": None}
        wrong: dict[str, list[Any]] = {
            "tokens": [None, GOOD_TOKENS],
            "save": [None, "print", save_later, SaveLater()],
            "load": ["print", 7, save_later],
        }
        for name, values in wrong.items():

            def make(value: Any, name: str = name) -> None:
                app.api(**(good | {name: value}))

            self.refuse_types(name, make, *values)
        with self.assertRaisesRegex(TypeError, "save"):
            app.api(tokens=good["tokens"])  # pyright: ignore[reportCallIssue]

    def test_arguments_of_invoices_are_checked_before_the_first_is_read(self) -> None:
        api = Api(base_url=self.server.base_url, access_token="gat_1")
        calls: dict[str, Callable[..., object]] = {"limit": api.invoice_page, "page_size": api.invoices}
        for size, call in calls.items():

            def ask(name: str, call: Callable[..., object] = call) -> Call:
                return lambda value: call(BUSINESS, **{name: value})

            self.refuse_types("business_id", call, None, 7)
            self.refuse_values("business_id", call, "", "acme", BUSINESS + "\n", BUSINESS[:-1], "{" + BUSINESS + "}")
            self.refuse_types("status", ask("status"), 7, ["SENT"])
            self.refuse_values("status", ask("status"), "")
            self.refuse_types(size, ask(size), "5", 5.0, True)
            self.refuse_values(size, ask(size), 0, -1, 201)
        self.refuse_types("cursor", lambda value: api.invoice_page(BUSINESS, cursor=value), 7)
        self.refuse_values("cursor", lambda value: api.invoice_page(BUSINESS, cursor=value), "")
