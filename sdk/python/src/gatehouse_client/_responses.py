"""Responses of the server, and how they are validated."""

import json
import re
import time
from dataclasses import dataclass, field
from datetime import datetime, timezone
from email.message import Message
from email.utils import parsedate_to_datetime
from typing import NoReturn, cast

from gatehouse_client._times import from_seconds, parse_time
from gatehouse_client.errors import FieldError, GatehouseError

_CODE = re.compile(r"[a-z_]+")


@dataclass(frozen=True, slots=True)
class ApiResponse:
    """A complete response. Only its status is in `repr`: the rest may contain tokens."""

    status: int
    headers: "Message[str, str]" = field(repr=False)
    body: bytes = field(repr=False)

    def json(self) -> object:
        """The body, which has to be JSON."""
        value = _parse(self.body)
        if value is None and self.body.strip() != b"null":
            raise self.invalid("The response is not JSON.")
        return value

    def fields(self) -> "Fields":
        values = _parse_object(self.body)
        if values is None:
            raise self.invalid("The response is not a JSON object.")
        return Fields(self, values)

    def items(self) -> list["Fields"]:
        items = _parse_objects(self.body)
        if items is None:
            raise self.invalid("The response is not a JSON list of objects.")
        return [Fields(self, values) for values in items]

    def to_error(self) -> GatehouseError:
        """The error in a response; or, if it is not from Gatehouse, that it is invalid."""
        fields = Fields(self, _parse_object(self.body) or {})
        code, description = fields.text_if_any("error"), fields.text_if_any("error_description")
        # Other servers have an `error` too: "Not Found", for instance.
        if code is None or description is None or not _CODE.fullmatch(code):
            return self.invalid(self._describe_other_server())
        return GatehouseError(
            code,
            description=description,
            status=self.status,
            reason=fields.text_if_any("reason"),
            uri=fields.text_if_any("error_uri"),
            request_id=self.headers.get("x-request-id"),
            retry_after=read_retry_after(self.headers.get("retry-after")),
            errors=_read_field_errors(fields.values.get("errors")),
            state=fields.text_if_any("state"),
            allowed=_read_names(fields.values.get("allowed")),
        )

    def invalid(self, description: str) -> GatehouseError:
        return GatehouseError(
            "invalid_response",
            description=description,
            status=self.status,
            request_id=self.headers.get("x-request-id"),
            retry_after=read_retry_after(self.headers.get("retry-after")),
        )

    def _describe_other_server(self) -> str:
        if 300 <= self.status < 400:
            return f"Status {self.status} is a redirect, which is never followed: is base_url right?"
        return f"Status {self.status}, but not in the words of Gatehouse: is base_url right?"


class Fields:
    """A JSON object of a response. Unknown fields are ignored: the API may add some at any time."""

    __slots__ = ("_response", "values")

    def __init__(self, response: ApiResponse, values: dict[str, object]) -> None:
        self._response = response
        self.values = values

    def part(self, name: str) -> "Fields":
        """An object within this one."""
        value = self.values.get(name)
        return Fields(self._response, cast("dict[str, object]", value)) if isinstance(value, dict) else self._fail(name)

    def texts(self, name: str) -> tuple[str, ...]:
        value = self.values.get(name)
        items = cast("list[object]", value) if isinstance(value, list) else self._fail(name)
        return tuple(item if isinstance(item, str) else self._fail(name) for item in items)

    def text(self, name: str) -> str:
        return self.string(name) or self._fail(name)

    def string(self, name: str) -> str:
        """Text that may be empty."""
        return cast(str, self.values[name]) if self._is(name, str) else self._fail(name)

    def text_if_any(self, name: str) -> str | None:
        return (self.string(name) or None) if self._is(name, str) else None

    def number(self, name: str) -> float:
        value = cast(float, self.values[name]) if self._is(name, int, float) else self._fail(name)
        # Too large to be exact, so not a valid time.
        return float(value) if abs(value) < 2**53 else self._fail(name)

    def time(self, name: str) -> datetime:
        return parse_time(self.values.get(name)) or self._fail(name)

    def numeric_date(self, name: str) -> datetime:
        """RFC 7519 §2: seconds since 1970."""
        return from_seconds(self.number(name)) or self._fail(name)

    def numeric_date_if_any(self, name: str) -> datetime | None:
        return self.numeric_date(name) if self.values.get(name) is not None else None

    def flag(self, name: str) -> bool:
        return cast(bool, self.values[name]) if self._is(name, bool) else self._fail(name)

    def invalid(self, name: str) -> GatehouseError:
        return self._response.invalid(f"The response's {name} is missing or invalid.")

    def _is(self, name: str, *types: type) -> bool:
        """Checks the exact type: for `isinstance`, True is an int."""
        return type(self.values.get(name)) in types

    def _fail(self, name: str) -> NoReturn:
        raise self.invalid(name)


def _read_field_errors(value: object) -> list[FieldError]:
    items = cast("list[object]", value) if isinstance(value, list) else []
    found: list[FieldError] = []
    for item in items:
        fields = cast("dict[str, object]", item) if isinstance(item, dict) else {}
        field, message = fields.get("field"), fields.get("message")
        if isinstance(field, str) and isinstance(message, str):
            found.append(FieldError(field, message))
    return found


def _read_names(value: object) -> list[str] | None:
    if not isinstance(value, list):
        return None
    return [name for name in cast("list[object]", value) if isinstance(name, str)]


def read_retry_after(header: str | None) -> float | None:
    """RFC 9110 §10.2.3: seconds, or a date. Anything else is ignored."""
    if header is None:
        return None
    if re.fullmatch(r"\s*[0-9]{1,9}\s*", header):
        return float(header)
    try:
        when = parsedate_to_datetime(header)
        return max(0.0, when.replace(tzinfo=when.tzinfo or timezone.utc).timestamp() - time.time())
    except (TypeError, ValueError, ArithmeticError, LookupError):
        return None


def _parse_object(body: bytes) -> dict[str, object] | None:
    value = _parse(body)
    return cast("dict[str, object]", value) if isinstance(value, dict) else None


def _parse_objects(body: bytes) -> list[dict[str, object]] | None:
    value = _parse(body)
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in cast("list[object]", value)):
        return None
    return cast("list[dict[str, object]]", value)


def _parse(body: bytes) -> object:
    """None if it is not JSON: the parser's own error contains the whole body, perhaps with tokens."""
    try:
        return json.loads(body.decode(), parse_constant=_reject_constant)
    except (ValueError, RecursionError):
        return None


def _reject_constant(name: str) -> NoReturn:
    """Python would accept NaN and Infinity, which are not JSON."""
    raise ValueError(name)
