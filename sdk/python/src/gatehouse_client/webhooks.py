"""Messages that Gatehouse sends to an app's endpoint, signed as the Standard Webhooks specification says."""

import base64
import hashlib
import hmac
import json
import math
import re
import time
from collections.abc import Iterable
from typing import Any, NoReturn, Protocol, cast

from gatehouse_client._arguments import read_number
from gatehouse_client.errors import GatehouseError
from gatehouse_client.events import Event, read_event

_DEFAULT_TOLERANCE = 300
_MAX_TOLERANCE = 86_400
_SECRET = re.compile(r"whsec_((?:[A-Za-z0-9+/]{4})+(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)")
_MIN_KEY = 24
_MAX_KEY = 64
_VISIBLE_ASCII = re.compile(r"[\x21-\x7e]+")
_SECONDS = re.compile(r"[0-9]{1,12}")


class WebhookHeaders(Protocol):
    """A dict, or the headers of any server's request: names in any case, one value each."""

    def items(self) -> Iterable[tuple[str, Any]]: ...


WebhookEvent = Event
"""An event that Gatehouse delivered."""


def verify_webhook(
    *,
    secret: str | list[str] | tuple[str, ...],
    headers: WebhookHeaders,
    body: bytes | str,
    tolerance: float = _DEFAULT_TOLERANCE,
) -> WebhookEvent:
    """Verifies a message of Gatehouse and returns its event; rejects any other message.

    `body` is exactly what was received. `secret` may be several, while one is being replaced. `tolerance` is how far
    the time of sending may be from this machine's, in seconds.
    """
    _check_secrets(secret)
    sent = _read_headers(headers)
    content = _read_body(body)
    allowed = _read_tolerance(tolerance)

    for name, values in sent.items():
        if len(values) != 1 or not values[0]:
            _reject("signature_missing", f"It needs exactly one {name} header.")
    [event_id], [sent_at], [signatures] = sent.values()
    is_plain = _VISIBLE_ASCII.fullmatch(event_id) and _SECONDS.fullmatch(sent_at)
    if not is_plain or not _is_signed(secret, f"{event_id}.{sent_at}.".encode() + content, signatures):
        _reject(
            "signature_wrong",
            "No v1 signature fits. Is this the secret of this endpoint, and the body as it was received?",
        )
    # Checked last: only messages that Gatehouse has signed get these two reasons.
    _check_age(math.floor(time.time()) - int(sent_at), allowed)
    return _read_event(event_id, content)


def _is_signed(secret: str | list[str] | tuple[str, ...], content: bytes, signatures: str) -> bool:
    given = [signature.encode("utf-8", "surrogatepass") for signature in signatures.split(" ")]
    for each in [secret] if isinstance(secret, str) else secret:
        digest = hmac.new(_decode(each) or b"", content, hashlib.sha256).digest()
        expected = b"v1," + base64.b64encode(digest)
        if any(hmac.compare_digest(signature, expected) for signature in given):
            return True
    return False


def _check_age(age: int, tolerance: float) -> None:
    rule = f"and {tolerance:g} s are allowed. Is the clock of this machine right?"
    if age > tolerance:
        _reject("too_old", f"It was sent {age} s ago, {rule}")
    if -age > tolerance:
        _reject("too_new", f"It was sent {-age} s from now, {rule}")


def _read_event(event_id: str, content: bytes) -> WebhookEvent:
    event = read_event(event_id, _parse_object(content))
    if event is None:
        _reject("body_malformed", "It is signed, but it is not an event: a JSON object with type, timestamp and data.")
    return event


def _parse_object(content: bytes) -> dict[str, object]:
    """Empty if it is not JSON. Raises nothing: a parser's error contains the whole text."""
    try:
        value: object = json.loads(content.decode(), parse_constant=_reject_constant)
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}


def _reject_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON.")


def _reject(reason: str, description: str) -> NoReturn:
    raise GatehouseError("webhook_rejected", description=description, reason=reason)


def _check_secrets(secret: object) -> None:
    if not isinstance(secret, (str, list, tuple)):
        raise TypeError(f"secret must be text, or a list of texts, not {type(secret).__name__}.")
    secrets = [secret] if isinstance(secret, str) else cast("list[object]", secret)
    if not secrets:
        raise ValueError("secret must be at least one signing secret.")
    if not all(isinstance(each, str) for each in secrets):
        raise TypeError("secret must be text, or a list of texts.")
    if not all(_decode(cast(str, each)) for each in secrets):
        raise ValueError(
            "secret must be a signing secret as Gatehouse gave it: "
            f"whsec_ and {_MIN_KEY} to {_MAX_KEY} bytes in base64."
        )


def _decode(secret: str) -> bytes | None:
    match = _SECRET.fullmatch(secret)
    key = base64.b64decode(match[1]) if match else b""
    return key if _MIN_KEY <= len(key) <= _MAX_KEY else None


def _read_headers(headers: object) -> dict[str, list[str]]:
    """The values of the three headers; names in any case."""
    if not callable(getattr(headers, "items", None)):
        raise TypeError(f"headers must be a mapping of names to values, not {type(headers).__name__}.")
    found: dict[str, list[str]] = {"webhook-id": [], "webhook-timestamp": [], "webhook-signature": []}
    for name, value in cast(WebhookHeaders, headers).items():
        if not isinstance(cast(object, name), str):
            raise TypeError(f"headers must have names that are text, not {type(name).__name__}.")
        if name.lower() in found:
            found[name.lower()].append(value if isinstance(value, str) else "")
    return found


def _read_body(body: object) -> bytes:
    if isinstance(body, (bytes, bytearray, memoryview)):
        return bytes(cast(bytes, body))
    if not isinstance(body, str):
        raise TypeError(f"body must be bytes or text, exactly as received, not {type(body).__name__}.")
    # Text that cannot be encoded as UTF-8 was not received like this, and matches no signature.
    return body.encode("utf-8", "surrogatepass")


def _read_tolerance(value: object) -> float:
    seconds = read_number("tolerance", value)
    if not 0 < seconds <= _MAX_TOLERANCE:
        raise ValueError(f"tolerance must be over 0 and at most {_MAX_TOLERANCE} seconds.")
    return seconds
