"""Results of introspection."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from gatehouse_client._responses import ApiResponse


@dataclass(frozen=True, slots=True, kw_only=True)
class InactiveToken:
    """Revoked, expired, unknown or of another app: the response does not say which."""

    active: Literal[False] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ActiveToken:
    """An active token of this app. Times are in UTC, by the server's clock."""

    active: Literal[True] = True
    token_type: str
    scopes: tuple[str, ...]
    client_id: str
    user_id: str
    business_id: str
    audience: str | None = None
    """The URL of the only resource at which it works, if that is not the business API."""
    issued_at: datetime
    expires_at: datetime
    grant_expires_at: datetime | None = None
    """When the user's permission ends, if they allowed the app for a limited time."""


Introspection = ActiveToken | InactiveToken
"""Tell the two apart by `isinstance`, or by `active is True`: type checkers follow either."""


def read_introspection(response: ApiResponse) -> Introspection:
    fields = response.fields()
    if not fields.flag("active"):
        return InactiveToken()
    return ActiveToken(
        token_type=fields.text("token_type"),
        scopes=tuple(fields.string("scope").split()),
        client_id=fields.text("client_id"),
        user_id=fields.text("sub"),
        business_id=fields.text("business_id"),
        audience=fields.text_if_any("aud"),
        issued_at=fields.numeric_date("iat"),
        expires_at=fields.numeric_date("exp"),
        grant_expires_at=fields.numeric_date_if_any("grant_expires_at"),
    )
