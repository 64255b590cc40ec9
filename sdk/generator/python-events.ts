import { EVENTS } from '../../src/events/event-types.ts';
import { RESOURCES } from '../../src/resources/all.ts';
import { eventTypesOf, type Resource } from '../../src/resources/resource.ts';
import { capitalized } from './model.ts';

/** A class for each type of event, with the keys of its data. */
export function pythonEventsFile(): string {
  const classes = RESOURCES.flatMap((resource) => eventTypesOf(resource).map((type) => [type, classNameOf(type)]));
  const entries = classes.map(([type, name]) => `    "${type}": ${name},`);
  return `from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypedDict

from gatehouse_client._event import BaseEvent


${RESOURCES.flatMap(eventClasses).join('\n\n\n')}


RecordEvent = (
    ${classes.map(([, name]) => name).join('\n    | ')}
)
"""An event about a record."""

RECORD_EVENTS: Mapping[str, type[RecordEvent]] = {
${entries.join('\n')}
}
`;
}

/** `ExpenseCategoryCreated` of `expense_category.created`. */
const classNameOf = (type: string) => type.split(/[._]/).map(capitalized).join('');

function eventClasses(resource: Resource): string[] {
  const types = eventTypesOf(resource);
  const data = `${resource.title}Data`;
  const names = Object.keys(EVENTS[types[0] ?? '']?.data ?? {});
  return [
    `class ${data}(TypedDict):\n${names.map((name) => `    ${name}: str`).join('\n')}`,
    ...types.map(
      (type) => `@dataclass(frozen=True, slots=True, kw_only=True)
class ${classNameOf(type)}(BaseEvent):
    """${EVENTS[type]?.summary}."""

    data: ${data}
    type: Literal["${type}"] = "${type}"`,
    ),
  ];
}
