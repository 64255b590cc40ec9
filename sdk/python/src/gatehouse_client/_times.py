"""Times of the API: ISO 8601, in UTC."""

import re
from datetime import datetime, timezone

_UTC = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]{1,6}))?Z")


def parse_time(value: object) -> float | None:
    """Seconds since the epoch; None if it is not a time."""
    match = _UTC.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return None
    try:
        whole = datetime.strptime(match[1], "%Y-%m-%dT%H:%M:%S")
    except ValueError:
        return None
    return whole.replace(tzinfo=timezone.utc, microsecond=int((match[2] or "").ljust(6, "0"))).timestamp()
