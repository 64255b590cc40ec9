import { Type } from 'typebox';
import { RESOURCES } from '../resources/all.ts';
import { eventTypesOf, idNameOf, type Resource } from '../resources/resource.ts';

/**
 * Who may receive an event. `app`: the app that it is for, always. A scope: that app, while it has an active grant with this
 * scope in the event's business.
 */
export type EventGuard = 'app' | { scope: string };

export interface EventDeclaration {
  guard: EventGuard;
  /** When it is sent, in a few words. */
  summary: string;
  /** The fields of `data` in the payload. */
  data: Record<string, object>;
  example: Record<string, unknown>;
}

const ID = '0190b9a1-8d5e-7f6a-9b7c-8d9e0f1a2b3c';
const idOf = (description: string) => Type.String({ format: 'uuid', description });
const scopesOf = (description: string) => Type.Array(Type.String(), { description });
const textOf = (description: string) => Type.String({ description });

const BUSINESS = { businessId: idOf('The business that it happened in.') };
const GRANT = { ...BUSINESS, grantId: idOf('The grant.'), userId: idOf('The user who allowed the app.') };
const GRANT_EXAMPLE = { businessId: ID, grantId: ID, userId: ID };
/** A first-party app belongs to no business. */
const SECRET = {
  businessId: Type.Optional(idOf('The business that owns the app. Absent for a first-party app.')),
  secretId: idOf('The client secret.'),
};

/** The events of a resource follow from its declaration. Its scope to read guards them. */
function declareResourceEvents(resource: Resource): [string, EventDeclaration][] {
  const { name, scopes, fields, eventFields, example, state } = resource;
  const noun = name.replace('_', ' ');
  const one = `${/^[aeiou]/.test(noun) ? 'An' : 'A'} ${noun}`;
  const summaries = [
    `${one} was created`,
    `${one} has changed`,
    ...Object.values(state?.events ?? {}).map((what) => `${one} was ${what}`),
  ];
  const shown = eventFields.map((field) => [field, fields[field]?.schema ?? {}]);
  const data = { ...BUSINESS, [idNameOf(name)]: idOf(`The ${noun}.`), ...Object.fromEntries(shown) };
  const sample = Object.fromEntries(eventFields.map((field) => [field, example[field]]));
  const declaration = {
    guard: { scope: scopes.read },
    data,
    example: { businessId: ID, [idNameOf(name)]: ID, ...sample },
  };
  return eventTypesOf(resource).map((type, index) => [type, { ...declaration, summary: summaries[index] ?? '' }]);
}

/**
 * Every event type, declared once: who may receive it, and how the API reference and the dashboard describe it. An event of
 * any other type is neither recorded nor sent.
 */
const OWN_EVENTS = {
  'grant.created': {
    guard: 'app',
    summary: 'A user allowed the app',
    data: {
      ...GRANT,
      scopes: scopesOf('The scopes that were granted.'),
      connectedFor: textOf('`business` if the connection outlives the membership of the user, otherwise `user`.'),
      expiresAt: Type.Optional(
        Type.String({
          format: 'date-time',
          description: 'When the grant ends. Absent if it lasts until the user disconnects the app.',
        }),
      ),
    },
    example: { ...GRANT_EXAMPLE, scopes: ['read:invoices'], connectedFor: 'user' },
  },
  'grant.transferred': {
    guard: 'app',
    summary: 'Another user is now responsible for a grant',
    data: {
      ...GRANT,
      userId: idOf('The user under whose authority the app acts from now on.'),
      previousUserId: idOf('The user under whose authority it acted before. They may have left the business.'),
    },
    example: { ...GRANT_EXAMPLE, previousUserId: ID },
  },
  'grant.narrowed': {
    guard: 'app',
    summary: 'The user or an owner withdrew scopes',
    data: {
      ...GRANT,
      scopes: scopesOf('The scopes that are left.'),
      withdrawnScopes: scopesOf('The scopes that were withdrawn. Calls that need them fail at once.'),
    },
    example: { ...GRANT_EXAMPLE, scopes: ['read:invoices'], withdrawnScopes: ['write:invoices'] },
  },
  'grant.revoked': {
    guard: 'app',
    summary: 'A grant has ended',
    data: { ...GRANT, reason: textOf('Why: one of the reasons of `invalid_grant`. More may be added.') },
    example: { ...GRANT_EXAMPLE, reason: 'disconnected_by_user' },
  },
  'grant.expiring': {
    guard: 'app',
    summary: 'An unused grant expires in three days',
    data: { ...GRANT, expiresAt: Type.String({ format: 'date-time', description: 'When, unless the app refreshes.' }) },
    example: { ...GRANT_EXAMPLE, expiresAt: '2030-01-31T00:00:00.000Z' },
  },
  'app.secret_added': {
    guard: 'app',
    summary: 'The app has a new client secret',
    data: SECRET,
    example: { businessId: ID, secretId: ID },
  },
  'app.secret_removed': {
    guard: 'app',
    summary: 'A client secret was removed',
    data: SECRET,
    example: { businessId: ID, secretId: ID },
  },
  'endpoint.test': {
    guard: 'app',
    summary: 'A test event',
    data: { endpointId: idOf('The endpoint that is tested.') },
    example: { endpointId: ID },
  },
} as const satisfies Record<string, EventDeclaration>;

export type EventType = keyof typeof OWN_EVENTS | `${string}.${string}`;

export const EVENTS: Record<string, EventDeclaration> = {
  ...OWN_EVENTS,
  ...Object.fromEntries(RESOURCES.flatMap(declareResourceEvents)),
};

/** Leaves out those of the resources if the platform serves its own API. */
export function listEventTypes(servesResources: boolean): EventType[] {
  return (servesResources ? EVENT_TYPES : Object.keys(OWN_EVENTS)) as EventType[];
}

export const EVENT_TYPES = Object.keys(EVENTS) as EventType[];

/** Undefined for a type that this version does not declare: a newer version may have recorded the event. */
export function guardOf(type: string): EventGuard | undefined {
  return Object.hasOwn(EVENTS, type) ? EVENTS[type]?.guard : undefined;
}
