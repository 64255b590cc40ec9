"""Connect an app to Gatehouse, and read a business's invoices with the tokens it was given."""

from gatehouse_client._version import VERSION as __version__
from gatehouse_client.api import Api
from gatehouse_client.app import App
from gatehouse_client.authorization import Authorization
from gatehouse_client.errors import GatehouseError
from gatehouse_client.introspection import ActiveToken, InactiveToken, Introspection
from gatehouse_client.invoices import Business, Invoice, InvoicePage
from gatehouse_client.tokens import Tokens
from gatehouse_client.webhooks import WebhookEvent, WebhookHeaders, verify_webhook

__all__ = [
    "ActiveToken",
    "Api",
    "App",
    "Authorization",
    "Business",
    "GatehouseError",
    "InactiveToken",
    "Introspection",
    "Invoice",
    "InvoicePage",
    "Tokens",
    "WebhookEvent",
    "WebhookHeaders",
    "__version__",
    "verify_webhook",
]
