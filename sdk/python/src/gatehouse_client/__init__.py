"""Connect an app to Gatehouse, call the business API with the tokens it was given, read events and verify webhooks."""

from typing import TYPE_CHECKING

from gatehouse_client import resources
from gatehouse_client._records import Page
from gatehouse_client._responses import ApiResponse
from gatehouse_client._version import VERSION as __version__
from gatehouse_client.api import Api
from gatehouse_client.app import App
from gatehouse_client.authorization import Authorization
from gatehouse_client.errors import FieldError, GatehouseError
from gatehouse_client.events import (
    EVENT_TYPES,
    EndpointTest,
    Event,
    EventPage,
    GrantCreated,
    GrantExpiring,
    GrantNarrowed,
    GrantRevoked,
    GrantTransferred,
    SecretAdded,
    SecretRemoved,
    UnknownEvent,
)
from gatehouse_client.introspection import ActiveToken, InactiveToken, Introspection
from gatehouse_client.invoice_pages import Business, InvoicePage
from gatehouse_client.me import ConnectedApp, Me, User
from gatehouse_client.names import Scope
from gatehouse_client.resources import *
from gatehouse_client.tokens import Tokens
from gatehouse_client.webhooks import WebhookEvent, WebhookHeaders, verify_webhook

# Not in __all__, so that `import *` works without httpx.
if TYPE_CHECKING:
    from gatehouse_client.async_api import AsyncApi as AsyncApi
    from gatehouse_client.async_app import AsyncApp as AsyncApp

__all__ = [
    "EVENT_TYPES",
    "ActiveToken",
    "Api",
    "ApiResponse",
    "App",
    "Authorization",
    "Business",
    "ConnectedApp",
    "EndpointTest",
    "Event",
    "EventPage",
    "FieldError",
    "GatehouseError",
    "GrantCreated",
    "GrantExpiring",
    "GrantNarrowed",
    "GrantRevoked",
    "GrantTransferred",
    "InactiveToken",
    "Introspection",
    "InvoicePage",
    "Me",
    "Page",
    "Scope",
    "SecretAdded",
    "SecretRemoved",
    "Tokens",
    "UnknownEvent",
    "User",
    "WebhookEvent",
    "WebhookHeaders",
    "__version__",
    "verify_webhook",
]
__all__ += resources.__all__


def __getattr__(name: str) -> object:
    """The asynchronous clients need httpx, which the others do not: it is imported when one of them is used."""
    if name not in ("AsyncApi", "AsyncApp"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from gatehouse_client import async_api, async_app
    except ModuleNotFoundError as error:
        if error.name != "httpx":
            raise
        raise ImportError(f"{name} needs httpx: pip install 'gatehouse-client[async]'", name="httpx") from None
    return async_api.AsyncApi if name == "AsyncApi" else async_app.AsyncApp
