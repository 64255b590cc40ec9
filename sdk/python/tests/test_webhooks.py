import base64
import hashlib
import hmac
import json
import os
import subprocess
import time
import unittest
from datetime import timedelta
from email.message import Message
from pathlib import Path
from typing import Any
from unittest.mock import patch

from gatehouse_client import GatehouseError, UnknownEvent, WebhookEvent, verify_webhook
from tests.reported import chain, library_frames
from tests.gatehouse import get_gatehouse
from tests.times import EPOCH

ROOT = Path(__file__).resolve().parents[3]
NOW = 1_893_456_000
EVENT = {"type": "deal.archived", "timestamp": "2029-12-31T23:59:58.500Z", "data": {"number": "Ä-7 €"}}
BODY = json.dumps(EVENT, ensure_ascii=False)
EXPECTED = UnknownEvent(id="msg_1", type="deal.archived", timestamp=EPOCH + timedelta(seconds=NOW - 1.5), data={"number": "Ä-7 €"})
NAMES = ("webhook-id", "webhook-timestamp", "webhook-signature")


def new_secret(size: int = 32) -> str:
    return "whsec_" + base64.b64encode(os.urandom(size)).decode()


SECRET = new_secret()


def sign(body: str = BODY, secret: str = SECRET, at: int = NOW) -> dict[str, str]:
    key = base64.b64decode(secret.removeprefix("whsec_"))
    digest = hmac.new(key, f"msg_1.{at}.{body}".encode(), hashlib.sha256).digest()
    return dict(zip(NAMES, ("msg_1", str(at), "v1," + base64.b64encode(digest).decode()), strict=True))


def verify(**changes: Any) -> WebhookEvent:
    arguments: dict[str, Any] = {"secret": SECRET, "headers": sign(), "body": BODY}
    with patch("gatehouse_client.webhooks.time.time", return_value=NOW + 0.9):
        return verify_webhook(**(arguments | changes))


# One message of the public library, and one that the server itself would send, both of this moment.
SIGNERS = """
import { Webhook } from 'standardwebhooks';
import { newSigningSecret, signMessage } from '../src/webhooks/signatures.ts';

const { body } = JSON.parse(process.argv[1]);
const [now, secret, older] = [new Date(), newSigningSecret(), newSigningSecret()];
const signature = new Webhook(secret).sign('msg_1', now, body);
const seconds = String(Math.floor(now.getTime() / 1000));
const published = { 'webhook-id': 'msg_1', 'webhook-timestamp': seconds, 'webhook-signature': signature };
const own = signMessage({ id: 'msg_1', body }, [secret, older], now.getTime());
console.log(JSON.stringify({ secret, older, published, own }));
"""


class Webhooks(unittest.TestCase):
    def assert_rejected(self, reason: str, **changes: Any) -> None:
        with self.subTest(reason=reason, **changes):
            with self.assertRaises(GatehouseError) as caught:
                verify(**changes)
            error = caught.exception
            self.assertEqual((error.code, error.reason, error.status), ("webhook_rejected", reason, None))
            self.assert_bare(error, changes.get("secret", SECRET))

    def assert_bare(self, error: BaseException, secret: str) -> None:
        """Neither a secret nor a signature, except for the arguments of the call itself."""
        key = base64.b64decode(secret.removeprefix("whsec_"))
        for each in chain(error):
            self.assertNotIn(secret, f"{each!r} {each.args!r} {vars(each)!r}")
            for frame in library_frames(each):
                seen = {name: value for name, value in frame.f_locals.items() if name != "secret"}
                self.assertNotIn(secret, repr(seen))
                self.assertNotIn(repr(key), repr(seen))
                self.assertNotIn("expected", seen)

    def test_a_message_of_the_public_library_and_one_of_the_server_are_read(self) -> None:
        get_gatehouse()
        command = ["node", "--input-type=module", "-e", SIGNERS, json.dumps({"body": BODY})]
        made = subprocess.run(command, cwd=f"{ROOT}/test", capture_output=True, text=True, check=False)
        self.assertEqual(made.returncode, 0, made.stderr)
        signed = json.loads(made.stdout)
        secret, older = signed["secret"], signed["older"]

        self.assertEqual(verify_webhook(secret=secret, headers=signed["published"], body=BODY), EXPECTED)
        for secrets in (secret, older, [secret, older], (SECRET, older)):
            self.assertEqual(verify_webhook(secret=secrets, headers=signed["own"], body=BODY), EXPECTED)
        with self.assertRaises(GatehouseError):
            verify_webhook(secret=older, headers=signed["published"], body=BODY)

    def test_headers_may_have_any_case_and_the_body_may_be_bytes_or_text(self) -> None:
        message: Message[str, str] = Message()
        for name, value in sign().items():
            message[name.title()] = value
        capitals = {name.upper(): value for name, value in sign().items()}

        for headers in (sign(), message, capitals, capitals | {"cookie": "x"}):
            self.assertEqual(verify(headers=headers), EXPECTED)
        for body in (BODY, BODY.encode(), bytearray(BODY.encode()), memoryview(BODY.encode())):
            self.assertEqual(verify(body=body), EXPECTED)

    def test_secrets_of_every_length_in_the_specification_are_accepted(self) -> None:
        for size in range(24, 65):
            secret = new_secret(size)
            self.assertEqual(verify(secret=secret, headers=sign(secret=secret)), EXPECTED)

    def test_of_several_signatures_one_matching_v1_is_enough(self) -> None:
        good = sign()["webhook-signature"]
        mac = good.removeprefix("v1,")
        for signature in (f"v1,AAAA {good}", f"{good} v1a,AAAA", f"v2,{mac} x {good}"):
            self.assertEqual(verify(headers=sign() | {"webhook-signature": signature}), EXPECTED)
        for signature in (f"v2,{mac}", f"v1a,{mac}", f"V1,{mac}", mac, good[:-1], f"{good}=", "v1,", " ", "é", "\ud800"):
            self.assert_rejected("signature_wrong", headers=sign() | {"webhook-signature": signature})

    def test_a_message_that_was_changed_or_signed_with_another_secret_is_rejected(self) -> None:
        for body in (BODY + " ", BODY.replace("7", "8"), "", BODY.encode("utf-16"), "\ud800"):
            self.assert_rejected("signature_wrong", body=body)
        for name, value in (
            ("webhook-id", "msg_2"),
            ("webhook-id", "msg 1"),
            ("webhook-id", "\ud800"),
            ("webhook-timestamp", str(NOW + 1)),
            ("webhook-timestamp", f"{NOW}.0"),
            ("webhook-timestamp", f" {NOW}"),
            ("webhook-timestamp", "٣"),
        ):
            self.assert_rejected("signature_wrong", headers=sign() | {name: value})
        self.assert_rejected("signature_wrong", headers=sign(secret=new_secret()))
        self.assert_rejected("signature_wrong", secret=new_secret())

    def test_a_message_without_its_headers_or_with_one_of_them_twice_is_rejected(self) -> None:
        for name in NAMES:
            value = sign()[name]
            without = {other: kept for other, kept in sign().items() if other != name}
            for headers in (without, without | {name: ""}, without | {name: None}, sign() | {name.upper(): value}):
                self.assert_rejected("signature_missing", headers=headers)

    def test_a_message_is_accepted_for_five_minutes_or_as_long_as_the_app_says(self) -> None:
        for at in (NOW - 300, NOW + 300):
            self.assertEqual(verify(headers=sign(at=at)), EXPECTED)
        self.assertEqual(verify(headers=sign(at=NOW - 3600), tolerance=3600), EXPECTED)
        self.assert_rejected("too_old", headers=sign(at=NOW - 301))
        self.assert_rejected("too_new", headers=sign(at=NOW + 301))
        self.assert_rejected("too_old", headers=sign(at=NOW - 11), tolerance=10.5)
        self.assert_rejected("signature_wrong", headers=sign(at=NOW - 301, secret=new_secret()))

    def test_a_signed_message_that_is_not_an_event_is_rejected(self) -> None:
        changes: tuple[dict[str, object], ...] = (
            {"type": None},
            {"type": ""},
            {"timestamp": 1},
            {"timestamp": "yesterday"},
            {"timestamp": "2029-13-01T00:00:00Z"},
            {"timestamp": "0000-01-01T00:00:00Z"},
            {"timestamp": "2029-12-31T23:59:60Z"},
            {"data": None},
            {"data": ["x"]},
        )
        bodies = [json.dumps(EVENT | change) for change in changes]
        bodies += ["", "{", "[]", "null", "7", "{}", "\ufeff" + BODY, "[" * 100_000, BODY.replace('"Ä-7 €"', "NaN")]
        for body in bodies:
            self.assert_rejected("body_malformed", body=body, headers=sign(body))

    def test_the_clock_is_that_of_this_machine(self) -> None:
        now = int(time.time())

        self.assertEqual(verify_webhook(secret=SECRET, headers=sign(at=now), body=BODY), EXPECTED)
        with self.assertRaises(GatehouseError):
            verify_webhook(secret=SECRET, headers=sign(at=now - 1000), body=BODY)

    def test_an_invalid_argument_is_rejected_first_and_not_repeated(self) -> None:
        wrong: dict[tuple[str, type[Exception]], tuple[Any, ...]] = {
            ("secret", TypeError): (None, 7, SECRET.encode(), [None], [SECRET, 7], {SECRET: 1}),
            ("secret", ValueError): (
                *("", "whsec_", SECRET[6:], SECRET + "\n", SECRET + "=", "é" + SECRET, new_secret(23), new_secret(65)),
                *([], [SECRET, "whsec_"]),
            ),
            ("headers", TypeError): (None, 7, "x", [("webhook-id", "msg_1")], {b"webhook-id": b"msg_1"}),
            ("body", TypeError): (None, 7, EVENT, [1]),
            ("tolerance", TypeError): (None, "300", True),
            ("tolerance", ValueError): (0, -1, float("nan"), float("inf"), 300_000),
        }
        for (name, kind), values in wrong.items():
            for value in values:
                with self.subTest(argument=name, value=value):
                    with self.assertRaises(kind) as caught:
                        verify(**({"headers": {}} | {name: value}))
                    self.assertTrue(str(caught.exception).startswith(f"{name} must "))
                    self.assertNotIn(SECRET[6:], str(caught.exception))
