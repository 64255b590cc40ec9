"""The tokens of one connection."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, cast

from gatehouse_client import _arguments as arguments
from gatehouse_client._responses import ApiResponse
from gatehouse_client._times import format_time


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """An access token and the refresh token that replaces it. Neither shows in `repr`.

    `expires_at` is when the access token ends, in UTC by this machine's clock.
    """

    access_token: str = field(repr=False)
    refresh_token: str = field(repr=False)
    expires_at: datetime
    scopes: tuple[str, ...]

    def __post_init__(self) -> None:
        arguments.read_token("access_token", self.access_token)
        arguments.read_token("refresh_token", self.refresh_token)
        # A list, and the time as text or a number, are accepted, too; the stored type is always the same.
        object.__setattr__(self, "expires_at", arguments.read_time("expires_at", self.expires_at))
        object.__setattr__(self, "scopes", arguments.read_names("scopes", self.scopes))

    def to_dict(self) -> dict[str, object]:
        """All fields, including secrets, as plain data for JSON. Store this."""
        return {
            "access_token": self.access_token,
            "refresh_token": self.refresh_token,
            "expires_at": format_time(self.expires_at),
            "scopes": list(self.scopes),
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, object]) -> "Tokens":
        """Reads the result of `to_dict`. Unknown keys are ignored."""
        known = cast(Any, _known_fields(stored))  # the constructor checks each
        return cls(**known)


def read_tokens(response: ApiResponse, sent_at: datetime) -> Tokens:
    """From a response of the token endpoint. The lifetime counts from the time of the request."""
    fields = response.fields()
    try:
        return Tokens(
            access_token=fields.text("access_token"),
            refresh_token=fields.text("refresh_token"),
            expires_at=sent_at + timedelta(seconds=fields.number("expires_in")),
            scopes=tuple(fields.string("scope").split()),
        )
    except (ValueError, OverflowError):
        pass
    raise response.invalid("The response does not contain valid tokens.")


def _known_fields(stored: object) -> dict[str, object]:
    if not isinstance(stored, Mapping):
        raise TypeError(f"stored tokens must be a mapping as to_dict gives it, not {type(stored).__name__}.")
    missing = [name for name in Tokens.__slots__ if name not in stored]
    if missing:
        raise ValueError(f"stored tokens lack {', '.join(missing)}.")
    return {name: stored[name] for name in Tokens.__slots__}
