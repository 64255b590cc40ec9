"""The error that this library raises for bad or missing responses of Gatehouse."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

_MAX_TEXT = 500
_MAX_ADDRESS = 2000

# Errors end up in logs, where a line break would start a new entry, and a lone surrogate cannot be written.
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]+")


def to_one_line(text: str, longest: int = _MAX_TEXT) -> str:
    return _UNPRINTABLE.sub(" ", text)[:longest]


@dataclass(frozen=True, slots=True)
class FieldError:
    """What is wrong with one field of a request, such as `lines[0].quantity`."""

    field: str
    message: str


class GatehouseError(Exception):
    """Gatehouse rejected the request, or there was no usable response.

    `code` is the `error` of the response, or one of `timeout`, `network_error`, `invalid_response`, `response_too_large`,
    `state_mismatch` and `issuer_mismatch`. `reason` is more specific than `code`; without one in the response, it is the
    code. `status` is None without a response. `retry_after` is in seconds. `errors` names every wrong field, if the reason
    is `fields_invalid`. For a `conflict`, `state` is that of the record, and `allowed` the transitions that are possible
    instead. Each text is a single line of limited length.
    """

    code: str
    reason: str
    status: int | None
    description: str | None
    uri: str | None
    request_id: str | None
    retry_after: float | None
    errors: tuple[FieldError, ...]
    state: str | None
    allowed: tuple[str, ...] | None

    def __init__(
        self,
        code: str,
        description: str | None = None,
        status: int | None = None,
        reason: str | None = None,
        uri: str | None = None,
        request_id: str | None = None,
        retry_after: float | None = None,
        errors: Sequence[FieldError] = (),
        state: str | None = None,
        allowed: Sequence[str] | None = None,
    ) -> None:
        self.code = to_one_line(code)
        self.reason = self.code if reason is None else to_one_line(reason)
        self.status = status
        self.description = None if description is None else to_one_line(description)
        self.uri = None if uri is None else to_one_line(uri, _MAX_ADDRESS)
        self.request_id = None if request_id is None else to_one_line(request_id)
        self.retry_after = retry_after
        self.errors = tuple(FieldError(to_one_line(each.field), to_one_line(each.message)) for each in errors)
        self.state = None if state is None else to_one_line(state)
        self.allowed = None if allowed is None else tuple(to_one_line(name) for name in allowed)
        message = self.code if self.description is None else f"{self.code}: {self.description}"
        super().__init__(message if self.request_id is None else f"{message} (request {self.request_id})")

    def __reduce__(self) -> tuple[type["GatehouseError"], tuple[object, ...]]:
        # By default only the message of an exception is pickled, which is not enough for another process.
        return type(self), (
            self.code,
            self.description,
            self.status,
            self.reason,
            self.uri,
            self.request_id,
            self.retry_after,
            self.errors,
            self.state,
            self.allowed,
        )
