"""The names that requests may contain."""

from typing import Literal

Scope = Literal[
    "read:invoices",
    "write:invoices",
    "read:contacts",
    "write:contacts",
    "read:deals",
    "write:deals",
    "read:expenses",
    "read:reports",
    "read:employees",
    "read:orders",
]
"""The scopes that an app can request. For one that a newer Gatehouse has, write `cast(Scope, "read:stock")`."""
