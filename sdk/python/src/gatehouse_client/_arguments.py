"""Checks of arguments, before any request.

No message contains the rejected value: it may be a misplaced secret.
"""

import inspect
import re
from datetime import datetime
from typing import cast
from urllib.parse import urlsplit

from gatehouse_client._times import from_seconds, parse_time, to_utc

_UNBROKEN = re.compile(r"[^\s\x00-\x20\x7f-\xa0]+")
_VISIBLE_ASCII = re.compile(r"[\x21-\x7e]+")
# RFC 6749 §3.3: visible ASCII without quote and backslash.
_SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_PATH = re.compile(r"/[\x21\x22\x24-\x5b\x5d-\x7e]*")
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_ORIGIN = re.compile(rf"(https?)://(\[[0-9a-f:.]{{2,45}}\]|{_LABEL}(?:\.{_LABEL})*)(?::([0-9]{{1,5}}))?/?")
_LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "[::1]")
_DEFAULT_PORTS = {"http": 80, "https": 443}
_MAX_TIMEOUT = 600
_LARGEST_PAGE = 200
_LARGEST_EXACT = 2**53


def read_origin(value: object) -> str:
    """Like the server's own issuer: in lower case, without the default port or a trailing slash."""
    match = _ORIGIN.fullmatch(_string("base_url", value).lower())
    if not match or len(match[2]) > 253 or int(match[3] or 0) > 65535:
        raise ValueError("base_url must be an origin like https://api.example.com, and nothing behind it.")
    scheme, host, port = match[1], match[2], match[3]
    if scheme == "http" and host not in _LOOPBACK_HOSTS:
        raise ValueError("base_url must start with https:// unless its host is localhost, 127.0.0.1 or [::1].")
    return f"{scheme}://{host}" + ("" if port is None or int(port) == _DEFAULT_PORTS[scheme] else f":{int(port)}")


def is_loopback(origin: str) -> bool:
    return re.sub(r":[0-9]+$", "", origin.partition("://")[2]) in _LOOPBACK_HOSTS


def read_text(name: str, value: object) -> str:
    if not _UNBROKEN.fullmatch(_string(name, value)):
        raise ValueError(f"{name} must be text, not empty, without spaces and control characters.")
    return cast(str, value)


def read_redirect_uri(value: object) -> str:
    address = read_text("redirect_uri", value)
    if "#" in address or not _is_web_address(address):
        raise ValueError("redirect_uri must be an http:// or https:// address with a host and without a fragment.")
    return address


def read_words(name: str, value: object) -> str:
    """For text that may contain spaces: the server validates it."""
    if not _string(name, value):
        raise ValueError(f"{name} must not be empty.")
    return cast(str, value)


def read_token(name: str, value: object) -> str:
    if not _VISIBLE_ASCII.fullmatch(_string(name, value)):
        raise ValueError(f"{name} must be the token's text: not empty, visible ASCII characters only.")
    return cast(str, value)


def read_names(name: str, value: object) -> tuple[str, ...]:
    """Granted scopes: there may be none left."""
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"{name} must be a list of scope names, not {_kind(value)}.")
    names = tuple(_string(f"each of {name}", item) for item in cast("list[object]", value))
    if not all(_SCOPE.fullmatch(item) for item in names):
        raise ValueError(f"{name} must be scope names without spaces, quotes or backslashes.")
    return names


def read_scopes(name: str, value: object) -> tuple[str, ...]:
    """Scopes to request."""
    names = read_names(name, value)
    if not names:
        raise ValueError(f"{name} must name at least one scope.")
    return names


def read_prompt(value: object) -> str | None:
    if value is not None and _string("prompt", value) not in ("none", "login"):
        raise ValueError("prompt must be 'none', 'login' or left out.")
    return cast("str | None", value)


def read_method(value: object) -> None:
    if value not in _METHODS:
        raise ValueError(f"method must be one of {', '.join(_METHODS)}.")


def read_path(value: object) -> str:
    """Appended to the origin, so that the token can be sent nowhere else."""
    if not _PATH.fullmatch(_string("path", value)):
        raise ValueError("path must be the path of an endpoint, such as /api/v1/me, in visible ASCII characters.")
    return cast(str, value)


def read_uuid(name: str, value: object) -> str:
    if not _UUID.fullmatch(_string(name, value)):
        raise ValueError(f"{name} must be a UUID.")
    return cast(str, value)


def read_business_id(value: object) -> str:
    if not _UUID.fullmatch(_string("business_id", value)):
        raise ValueError("business_id must be a UUID, as businesses() gives it.")
    return cast(str, value)


def read_page_size(name: str, value: object) -> int:
    # True is an int in Python, but never a valid value here.
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{name} must be a whole number, not {_kind(value)}.")
    if not 1 <= value <= _LARGEST_PAGE:
        raise ValueError(f"{name} must be from 1 to {_LARGEST_PAGE}.")
    return value


def read_timeout(value: object) -> float:
    seconds = read_number("timeout", value)
    if not 0 < seconds <= _MAX_TIMEOUT:
        raise ValueError(f"timeout must be over 0 and at most {_MAX_TIMEOUT} seconds.")
    return seconds


def read_number(name: str, value: object) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise TypeError(f"{name} must be a number of seconds, not {_kind(value)}.")
    if not -_LARGEST_EXACT <= value <= _LARGEST_EXACT:
        raise ValueError(f"{name} must be a finite number of seconds.")
    return float(value)


def read_time(name: str, value: object) -> datetime:
    """From a `datetime`, text as `to_dict` of `Tokens` gives it, or seconds since 1970, as 0.1.0 stored them."""
    if isinstance(value, datetime):
        time = to_utc(value)
    elif isinstance(value, str):
        time = parse_time(value)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        time = from_seconds(value)
    else:
        raise TypeError(f"{name} must be a datetime, not {_kind(value)}.")
    if time is None:
        raise ValueError(f"{name} must be a datetime with a time zone, or text such as 2030-01-31T12:00:00Z.")
    return time


def check_tokens(value: object, kind: type) -> None:
    if not isinstance(value, kind):
        raise TypeError(f"tokens must be Tokens, not {_kind(value)}.")


def check_callable(name: str, value: object) -> None:
    if not callable(value):
        raise TypeError(f"{name} must be a function, not {_kind(value)}.")


def check_function(name: str, value: object) -> None:
    check_callable(name, value)
    # Called without await it would do nothing, and the tokens would be lost silently.
    if inspect.iscoroutinefunction(value) or inspect.iscoroutinefunction(getattr(value, "__call__", None)):
        raise TypeError(f"{name} must be a plain function: an async one would never be awaited.")


def _is_web_address(address: str) -> bool:
    try:
        parts = urlsplit(address)
        return parts.scheme in _DEFAULT_PORTS and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _string(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name} must be text, not {_kind(value)}.")
    return value


def _kind(value: object) -> str:
    return type(value).__name__
