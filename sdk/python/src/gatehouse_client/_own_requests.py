"""Requests that the library has no function for."""

import json
from collections.abc import Mapping
from typing import Literal
from urllib.parse import urlencode

from gatehouse_client import _arguments as arguments
from gatehouse_client._records import write_headers
from gatehouse_client._request import Request

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
QueryValues = Mapping[str, "str | int | None"]


def own_request(
    path: str,
    *,
    method: Method,
    business_id: str | None,
    query: QueryValues | None,
    body: Mapping[str, object] | None,
    if_match: str | None,
    idempotency_key: str | None,
) -> Request:
    arguments.read_method(method)
    headers = {} if method == "GET" else write_headers(idempotency_key, if_match)
    if business_id is not None:
        headers["x-business-id"] = arguments.read_business_id(business_id)
    address = _with_query(arguments.read_path(path), query or {})
    if body is None:
        return Request(method, address, headers)
    return Request(method, address, headers | {"content-type": "application/json"}, json.dumps(dict(body)).encode())


def _with_query(path: str, query: QueryValues) -> str:
    text = urlencode({name: _text(value) for name, value in query.items() if value is not None})
    return path + ("&" if "?" in path else "?") + text if text else path


def _text(value: str | int) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
