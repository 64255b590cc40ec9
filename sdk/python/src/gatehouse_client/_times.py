"""Times: an aware `datetime` in UTC here, ISO 8601 text in the API and in stored tokens, seconds since 1970 in OAuth."""

import re
from datetime import datetime, timedelta, timezone

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_UTC = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]{1,6}))?Z")


def parse_time(value: object) -> datetime | None:
    """None if it is not a time of the API."""
    match = _UTC.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return None
    try:
        whole = datetime.strptime(match[1], "%Y-%m-%dT%H:%M:%S")
    except ValueError:
        return None
    return whole.replace(tzinfo=timezone.utc, microsecond=int((match[2] or "").ljust(6, "0")))


def format_time(time: datetime) -> str:
    return time.isoformat().replace("+00:00", "Z")


def from_seconds(seconds: float) -> datetime | None:
    """None if no `datetime` is as late or as early."""
    try:
        return _EPOCH + timedelta(seconds=seconds)
    except (OverflowError, ValueError):
        return None


def to_utc(time: datetime) -> datetime | None:
    """None without a time zone, and if UTC has no such time."""
    try:
        return None if time.utcoffset() is None else time.astimezone(timezone.utc)
    except OverflowError:
        return None


def now() -> datetime:
    return datetime.now(timezone.utc)
