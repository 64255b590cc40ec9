"""What an app holds for one connection, and what it stores."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from gatehouse_client import _arguments as arguments
from gatehouse_client._answers import Answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """An access token and the refresh token that replaces it. Neither shows in `repr`.

    `expires_at` is when the access token ends, in seconds since the epoch by this machine's clock, as `time.time()`.
    """

    access_token: str = field(repr=False)
    refresh_token: str = field(repr=False)
    expires_at: float
    scopes: tuple[str, ...]

    def __post_init__(self) -> None:
        arguments.read_token("access_token", self.access_token)
        arguments.read_token("refresh_token", self.refresh_token)
        # A list, or a whole number, is as good; what is kept is always the same type.
        object.__setattr__(self, "expires_at", arguments.read_number("expires_at", self.expires_at))
        object.__setattr__(self, "scopes", arguments.read_names("scopes", self.scopes))

    def to_dict(self) -> dict[str, object]:
        """Everything, secrets included, as plain data that survives JSON. This is what to store."""
        return {
            "access_token": self.access_token,
            "refresh_token": self.refresh_token,
            "expires_at": self.expires_at,
            "scopes": list(self.scopes),
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, object]) -> "Tokens":
        """What `to_dict` gave. Keys that it does not know are ignored."""
        known = cast(Any, _known_fields(stored))  # the constructor checks each
        return cls(**known)


def read_tokens(answer: Answer, asked_at: float) -> Tokens:
    """From an answer of the token endpoint. The lifetime is counted from when it was asked for, so never too long."""
    fields = answer.fields()
    try:
        return Tokens(
            access_token=fields.text("access_token"),
            refresh_token=fields.text("refresh_token"),
            expires_at=asked_at + fields.number("expires_in"),
            scopes=tuple(fields.string("scope").split()),
        )
    except ValueError:
        pass
    raise answer.unreadable("The tokens in the answer are not what tokens look like.")


def _known_fields(stored: object) -> dict[str, object]:
    if not isinstance(stored, Mapping):
        raise TypeError(f"stored tokens must be a mapping as to_dict gives it, not {type(stored).__name__}.")
    missing = [name for name in Tokens.__slots__ if name not in stored]
    if missing:
        raise ValueError(f"stored tokens lack {', '.join(missing)}.")
    return {name: stored[name] for name in Tokens.__slots__}
