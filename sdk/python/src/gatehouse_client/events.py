"""Events, as webhooks and the list of events report them.

Each known type is a class of its own, so that `isinstance`, `match` or a comparison of `type` tells what is in `data`.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypedDict, cast

from gatehouse_client._responses import ApiResponse, Fields
from gatehouse_client._event import BaseEvent
from gatehouse_client._pages import read_next_cursor
from gatehouse_client._times import parse_time
from gatehouse_client.record_events import RECORD_EVENTS, RecordEvent


class GrantData(TypedDict):
    businessId: str
    grantId: str
    userId: str


class _GrantedScopes(GrantData):
    """`connectedFor` is "user" or "business"."""

    scopes: list[str]
    connectedFor: str


class GrantTransferredData(GrantData):
    """`userId` is the user under whose authority the app acts from now on."""

    previousUserId: str


class GrantCreatedData(_GrantedScopes, total=False):
    """`expiresAt` is an ISO 8601 time, and absent if the grant lasts until the user disconnects the app."""

    expiresAt: str


class GrantNarrowedData(GrantData):
    """`scopes` are those that are left."""

    scopes: list[str]
    withdrawnScopes: list[str]


class GrantRevokedData(GrantData):
    """`reason` as in the errors, such as `disconnected_by_user`."""

    reason: str


class GrantExpiringData(GrantData):
    """`expiresAt` is an ISO 8601 time."""

    expiresAt: str


class _SecretId(TypedDict):
    secretId: str


class SecretData(_SecretId, total=False):
    """A first-party app has no business."""

    businessId: str


class EndpointData(TypedDict):
    endpointId: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantCreated(BaseEvent):
    """A user allowed the app."""

    data: GrantCreatedData
    type: Literal["grant.created"] = "grant.created"


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantTransferred(BaseEvent):
    """Another user is now responsible for a grant."""

    data: GrantTransferredData
    type: Literal["grant.transferred"] = "grant.transferred"


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantNarrowed(BaseEvent):
    """The user or an owner withdrew scopes."""

    data: GrantNarrowedData
    type: Literal["grant.narrowed"] = "grant.narrowed"


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantRevoked(BaseEvent):
    """A grant ended."""

    data: GrantRevokedData
    type: Literal["grant.revoked"] = "grant.revoked"


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantExpiring(BaseEvent):
    """An unused grant expires in three days."""

    data: GrantExpiringData
    type: Literal["grant.expiring"] = "grant.expiring"


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretAdded(BaseEvent):
    """The app has a new client secret."""

    data: SecretData
    type: Literal["app.secret_added"] = "app.secret_added"


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretRemoved(BaseEvent):
    """A client secret of the app was removed."""

    data: SecretData
    type: Literal["app.secret_removed"] = "app.secret_removed"


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointTest(BaseEvent):
    """A test event that was requested."""

    data: EndpointData
    type: Literal["endpoint.test"] = "endpoint.test"


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownEvent(BaseEvent):
    """An event of a type that a newer Gatehouse sends. Ignore it."""

    type: str
    data: dict[str, Any]


_KnownEvent = (
    GrantCreated
    | GrantTransferred
    | GrantNarrowed
    | GrantRevoked
    | GrantExpiring
    | SecretAdded
    | SecretRemoved
    | EndpointTest
    | RecordEvent
)

Event = _KnownEvent | UnknownEvent
"""Any event."""

_CLASSES: Mapping[str, type[_KnownEvent]] = {
    "grant.created": GrantCreated,
    "grant.transferred": GrantTransferred,
    "grant.narrowed": GrantNarrowed,
    "grant.revoked": GrantRevoked,
    "grant.expiring": GrantExpiring,
    "app.secret_added": SecretAdded,
    "app.secret_removed": SecretRemoved,
    "endpoint.test": EndpointTest,
    **RECORD_EVENTS,
}

EVENT_TYPES: tuple[str, ...] = tuple(_CLASSES)
"""The event types that this version of the library knows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventPage:
    """`next_cursor` is the cursor of the next page; None on the last one."""

    events: tuple[Event, ...]
    next_cursor: str | None


def read_event_page(response: ApiResponse, cursors_seen: Collection[str] = ()) -> EventPage:
    events = tuple(_read_sent(fields) for fields in response.items())
    return EventPage(events=events, next_cursor=read_next_cursor(response, cursors_seen))


def _read_sent(fields: Fields) -> Event:
    event = read_event(fields.text("id"), fields.values)
    if event is None:
        raise fields.invalid("type, timestamp or data")
    return event


def read_event(event_id: str, values: Mapping[str, object]) -> Event | None:
    """None if the values are not an event."""
    kind, data, happened_at = values.get("type"), values.get("data"), parse_time(values.get("timestamp"))
    if not isinstance(kind, str) or not kind or not isinstance(data, dict) or happened_at is None:
        return None
    known = _CLASSES.get(kind)
    if known is None:
        return UnknownEvent(id=event_id, type=kind, timestamp=happened_at, data=cast("dict[str, Any]", data))
    return known(id=event_id, timestamp=happened_at, data=cast(Any, data))
