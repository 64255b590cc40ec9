import { Type } from 'typebox';
import { RECORD_BODY_LIMIT } from '../http/body-parsers.ts';
import { ApiError } from '../http/errors.ts';
import type { Resource, Transition, Values } from '../resources/resource.ts';
import { runOnce } from './idempotency.ts';
import { listEndpoint } from './list-endpoint.ts';
import type { ApiRequest, ApiResult, ProtectedEndpoint } from './protected-endpoint.ts';
import { changeRecord, createRecord, dayOf, findRecord, type StoredRecord } from './records.ts';
import {
  capitalized,
  detailNameOf,
  exampleOf,
  examplesOf,
  nounOf,
  operationName,
  recordSchema,
  tagOf,
  withArticle,
  writableExample,
} from './resource-schemas.ts';
import { bodySchema, createInputValidator, reportFieldErrors } from './validation.ts';

/** The endpoints of a resource: list and get, and if it has a scope to write, create, update and its transitions. */
export function endpointsOf(resource: Resource): ProtectedEndpoint[] {
  const { write } = resource.scopes;
  const reads = [listEndpoint(resource), getEndpoint(resource)];
  const endpoints = write ? [...reads, ...writesOf(resource, write)] : reads;
  return endpoints.map((endpoint) => ({ ...endpoint, tag: tagOf(resource) }));
}

function writesOf(resource: Resource, scope: string): ProtectedEndpoint[] {
  const transitions = Object.entries(resource.transitions);
  return [
    createEndpoint(resource, scope),
    updateEndpoint(resource, scope),
    ...transitions.map(([name, transition]) => transitionEndpoint(resource, scope, name, transition)),
  ];
}

const PARAMS = Type.Object({ id: Type.String({ format: 'uuid', description: 'The `id` of the record.' }) });

const ETAG = { etag: Type.String({ description: 'The version of the record, for `If-Match`.', examples: ['"3"'] }) };

const LOCATION = { location: Type.String({ description: 'The path of the new record.' }) };

function oneRecord(resource: Resource): ProtectedEndpoint['response'] {
  return {
    description: `The ${nounOf(resource)}.`,
    name: detailNameOf(resource),
    schema: recordSchema(resource, true),
    headers: ETAG,
    example: exampleOf(resource, true),
  };
}

const respondWith = ({ values, version }: StoredRecord): ApiResult => ({
  body: values,
  headers: { etag: `"${version}"` },
});

function notFound(resource: Resource): ApiError {
  const description = `The business has no ${nounOf(resource)} with this id.`;
  return new ApiError({ status: 404, code: 'not_found', reason: 'not_found', description });
}

function getEndpoint(resource: Resource): ProtectedEndpoint {
  return {
    method: 'GET',
    path: `${resource.path}/:id`,
    scope: resource.scopes.read,
    operationId: `get${operationName(resource.name)}`,
    summary: `Get ${withArticle(nounOf(resource))}`,
    description: `One ${nounOf(resource)}, with all its fields.`,
    params: PARAMS,
    response: oneRecord(resource),
    async handle({ db, access, params }) {
      const record = await findRecord(db, resource, { businessId: access.businessId, id: params.id });
      if (!record) throw notFound(resource);
      return respondWith(record);
    },
  };
}

const bodyLimitOf = ({ fields }: Resource) =>
  Object.values(fields).some(({ isWritable, stored }) => isWritable && stored === 'json') && {
    bodyLimit: RECORD_BODY_LIMIT,
  };

function createEndpoint(resource: Resource, scope: string): ProtectedEndpoint {
  const schema = bodySchema(resource.fields, { example: writableExample(resource) });
  const validate = createInputValidator(schema);
  return {
    method: 'POST',
    path: resource.path,
    scope,
    operationId: `create${operationName(resource.name)}`,
    summary: `Create ${withArticle(nounOf(resource))}`,
    description: `Creates ${withArticle(nounOf(resource))} and returns it.`,
    body: schema,
    ...bodyLimitOf(resource),
    response: { ...oneRecord(resource), status: 201, headers: { ...ETAG, ...LOCATION } },
    handle: (request) => {
      const input = validate(request.body);
      return write(request, async (tx) => {
        const record = await createRecord(tx, resource, { businessId: request.access.businessId, input }, request.now);
        const { body, headers } = respondWith(record);
        return { status: 201, body, headers: { ...headers, location: `${resource.path}/${record.values.id}` } };
      });
    },
  };
}

function updateEndpoint(resource: Resource, scope: string): ProtectedEndpoint {
  const [lastField = ''] = Object.keys(resource.fields).slice(-1);
  const schema = bodySchema(resource.fields, {
    isPatch: true,
    example: { [lastField]: resource.example[lastField] ?? null },
  });
  const validate = createInputValidator(schema);
  const { state } = resource;
  return {
    method: 'PATCH',
    path: `${resource.path}/:id`,
    scope,
    operationId: `update${operationName(resource.name)}`,
    summary: `Update ${withArticle(nounOf(resource))}`,
    description: 'Changes the fields that are sent; `null` clears one.',
    params: PARAMS,
    body: schema,
    ...bodyLimitOf(resource),
    isDestructive: true,
    hasConflicts: state?.editableIn !== undefined,
    isConditional: true,
    response: oneRecord(resource),
    handle: (request) => {
      const changes = validate(request.body);
      return change(request, resource, (record) => {
        if (state?.editableIn) assertState(resource, record, { from: state.editableIn, what: 'updated' });
        const merged = { ...record, ...changes };
        return { ...changes, ...resource.compute?.(merged, dayOf(request.now)) };
      });
    },
  };
}

function transitionEndpoint(
  resource: Resource,
  scope: string,
  name: string,
  transition: Transition,
): ProtectedEndpoint {
  const { body = {}, from, summary, description, isDestructive = false } = transition;
  const schema = bodySchema(body, { example: examplesOf(body) });
  const validate = createInputValidator(schema);
  return {
    method: 'POST',
    path: `${resource.path}/:id/${name}`,
    scope,
    operationId: `${name}${operationName(resource.name)}`,
    summary,
    description,
    params: PARAMS,
    ...(Object.keys(body).length > 0 && { body: schema }),
    isDestructive,
    hasConflicts: true,
    isConditional: true,
    response: oneRecord(resource),
    handle: (request) => {
      const sent = validate(request.body ?? {});
      return change(request, resource, (record) => {
        assertState(resource, record, { from, what: `changed by ${name}` });
        return transition.change(record, sent, dayOf(request.now));
      });
    },
  };
}

function change(request: ApiRequest, resource: Resource, compute: (record: Values) => Values): Promise<ApiResult> {
  const ifVersion = readIfMatch(request.headers['if-match']);
  const { access, params, now } = request;
  return write(request, async (tx) => {
    const id = { businessId: access.businessId, id: params.id };
    const record = await changeRecord(tx, resource, id, { ifVersion, change: compute }, now);
    if (!record) throw notFound(resource);
    return respondWith(record);
  });
}

function write(request: ApiRequest, work: Parameters<typeof runOnce>[3]): Promise<ApiResult> {
  const { db, access, method, url, body, headers, now } = request;
  const key = headers['idempotency-key'];
  return reportFieldErrors(() => runOnce(db, { access, key, method, url, body }, now, work));
}

/** `*` and a missing header accept any version. */
function readIfMatch(header: string | undefined): number | undefined {
  if (header === undefined || header.trim() === '*') return undefined;
  // A proxy that compresses makes the ETag weak.
  const [, version] = /^\s*(?:W\/)?"(\d{1,9})"\s*$/.exec(header) ?? [];
  if (version !== undefined) return Number(version);
  const description = 'If-Match must be the ETag of the record as it was read, such as "3", or *.';
  throw new ApiError({ status: 400, code: 'invalid_request', reason: 'if_match_malformed', description });
}

/** The error names the transitions that are possible instead. */
function assertState(
  resource: Resource,
  record: Values,
  { from, what }: { from: readonly string[]; what: string },
): void {
  const state = String(record[resource.state?.field ?? '']);
  if (from.includes(state)) return;
  const allowed = Object.entries(resource.transitions)
    .filter(([, transition]) => transition.from.includes(state))
    .map(([name]) => name);
  const instead = allowed.length > 0 ? ` Possible now: ${allowed.join(', ')}.` : ' Nothing can change it now.';
  const description = `${capitalized(withArticle(nounOf(resource)))} that is ${state} cannot be ${what}.${instead}`;
  const details = { state, allowed };
  throw new ApiError({ status: 409, code: 'conflict', reason: 'state_not_allowed', description, details });
}
