"""Times that tests share."""

from datetime import datetime, timedelta, timezone

EPOCH = datetime.fromtimestamp(0, timezone.utc)


def from_now(seconds: float) -> datetime:
    return datetime.now(timezone.utc) + timedelta(seconds=seconds)
