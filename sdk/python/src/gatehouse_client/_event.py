"""What every event has."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseEvent:
    """`id` is the same at each delivery of the event: store it to detect repeats. `timestamp` is when it
    happened, in UTC.
    """

    id: str
    timestamp: datetime
