"""Values of the business API: snake_case and Python's types here, camelCase and text in requests and responses."""

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields as fields_of
from dataclasses import is_dataclass
from decimal import Decimal
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, cast, get_args, get_origin

from gatehouse_client._responses import Fields
from gatehouse_client._times import parse_time

_DECIMAL = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")

Value = TypeVar("Value")


def to_camel(name: str) -> str:
    """`from_` stands for `from`, which is a keyword."""
    return re.sub(r"_([a-z])", lambda match: match[1].upper(), name.rstrip("_"))


def to_wire(value: object) -> object:
    if isinstance(value, Mapping):
        return {to_camel(name): to_wire(each) for name, each in cast("Mapping[str, object]", value).items()}
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return [to_wire(each) for each in cast("Sequence[object]", value)]
    return value


def read_values(kind: type[Value], fields: Fields, known: Mapping[str, object] | None = None) -> Value:
    """A dataclass from a JSON object, and from what is known already. Unknown fields are ignored."""
    values = dict(known or {})
    for field in fields_of(cast(Any, kind)):
        if field.name not in values:
            name = to_camel(field.name)
            try:
                values[field.name] = _read(fields.values.get(name), field.type)
            except ValueError:
                raise fields.invalid(name) from None
    return kind(**values)


def _read(value: object, kind: Any) -> object:
    """Raises ValueError for a value of another kind."""
    if get_origin(kind) is UnionType:
        [some] = [each for each in get_args(kind) if each is not NoneType]
        return None if value is None else _read(value, some)
    if get_origin(kind) is tuple and isinstance(value, list):
        return tuple(_read(each, get_args(kind)[0]) for each in cast("list[object]", value))
    if is_dataclass(kind) and isinstance(value, dict):
        values = cast("dict[str, object]", value)
        return cast(Any, kind)(
            **{each.name: _read(values.get(to_camel(each.name)), each.type) for each in fields_of(cast(Any, kind))}
        )
    if isinstance(value, str):
        return _read_text(value, kind)
    if type(value) is kind:
        return value
    raise ValueError


def _read_text(text: str, kind: Any) -> object:
    # A newer Gatehouse may send other values than those of the type.
    if kind is str or get_origin(kind) is Literal:
        return text
    if kind is Decimal and _DECIMAL.fullmatch(text):
        return Decimal(text)
    if kind is dt.date:
        return dt.date.fromisoformat(text)
    time = parse_time(text) if kind is dt.datetime else None
    if time is None:
        raise ValueError
    return time
