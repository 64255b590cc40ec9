"""The user, business, app and scopes of an access token."""

from dataclasses import dataclass
from datetime import datetime

from gatehouse_client._responses import ApiResponse
from gatehouse_client.invoice_pages import Business


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """The user who allowed the app. Match it to your accounts by `id`, never by an unverified email address."""

    id: str
    name: str
    email: str
    email_verified: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectedApp:
    """The app that the token belongs to; `id` is its client_id."""

    id: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Me:
    """`granted_at` is when the user allowed the app, or took the connection over, in UTC.

    `connected_for` is "business" if the connection outlives the membership of the user: then key it by the id of the
    business. Otherwise it is "user".
    """

    user: User
    business: Business
    app: ConnectedApp
    scopes: tuple[str, ...]
    connected_for: str
    granted_at: datetime


def read_me(response: ApiResponse) -> Me:
    fields = response.fields()
    user, business, app = (fields.part(name) for name in ("user", "business", "app"))
    return Me(
        user=User(
            id=user.text("id"),
            name=user.string("name"),
            email=user.string("email"),
            email_verified=user.flag("emailVerified"),
        ),
        business=Business(id=business.text("id"), name=business.string("name")),
        app=ConnectedApp(id=app.text("id"), name=app.string("name")),
        scopes=fields.texts("scopes"),
        connected_for=fields.text("connectedFor"),
        granted_at=fields.time("grantedAt"),
    )
