import { optionalCount, optionalText, requireObject, requireToken, requireUuid } from './arguments.ts';
import { type BusinessApi, PIPELINE, REPORTS, RESOURCES } from './business-api.ts';
import { type Page, readPage, walkPages } from './paging.ts';
import { type ApiResponse, fieldsOf, invalidResponse, type Request } from './requests.ts';
import { type CallOptions, optionalSignal } from './signals.ts';

/** Which part of a list. */
export interface ListOptions extends CallOptions {
  /** From here on: a date or time of the field that `sort` names, such as `2026-07-31`. */
  since?: string | undefined;
  /** Before this. */
  until?: string | undefined;
  /** How many records a page has: 1 to 200; 50 if left out. */
  limit?: number | undefined;
}

/** Options of every write. */
export interface WriteOptions extends CallOptions {
  /** One for each operation; a random UUID if left out. Requests with the same key run once. */
  idempotencyKey?: string | undefined;
}

/** Options of a change of a record. */
export interface ChangeOptions extends WriteOptions {
  /** The `etag` of the record as it was read: if it has changed since, the error is 412 `precondition_failed`. */
  ifMatch?: string | undefined;
}

/** The records of one kind in a business. */
export interface Records<Item, Detail, Options extends ListOptions> {
  /** Every record; pages are read as they are needed. */
  list(options?: Options): AsyncGenerator<Item, void, undefined>;
  /** One page; `cursor` is the `nextCursor` of the page before. */
  listPage(options?: Options & { cursor?: string | undefined }): Promise<Page<Item>>;
  /** One record with all its fields and its `etag`. */
  get(id: string, options?: CallOptions): Promise<Detail>;
}

/** Records that an app may create and change. */
export interface WritableRecords<Item, Detail, Options extends ListOptions, Input>
  extends Records<Item, Detail, Options> {
  /** Creates a record and returns it. */
  create(input: Input, options?: WriteOptions): Promise<Detail>;
  /** Changes the fields that are given; null clears one. */
  update(id: string, changes: Changes<Input>, options?: ChangeOptions): Promise<Detail>;
}

/** Some fields of a record. */
export type Changes<Input> = { [Name in keyof Input]?: Input[Name] | undefined };

/** Sends a request with a valid token. */
type Ask = (request: Request) => Promise<ApiResponse>;

type Declaration = (typeof RESOURCES)[keyof typeof RESOURCES];

type Options = CallOptions & Record<string, unknown>;

export function openBusiness(askAs: Ask, businessId: string): BusinessApi {
  const business = { 'x-business-id': requireUuid(businessId, 'businessId') };
  const ask: Ask = (request) => askAs({ ...request, headers: { ...business, ...request.headers } });
  const resources = Object.entries(RESOURCES).map(([name, declaration]) => [name, recordsOf(ask, declaration)]);
  const reports = Object.entries(REPORTS).map(([name, { path, query }]) => [
    name,
    async (options: Options = {}) => readObject(await ask(toRequest(path, query, options, name))),
  ]);
  const api = { ...Object.fromEntries(resources), reports: Object.fromEntries(reports) };
  api.deals.pipeline = async (options: Options = {}) => {
    const response = await ask(toRequest(PIPELINE, [], options, 'pipeline'));
    return readPage(response, isObject).items;
  };
  return api;
}

function recordsOf(ask: Ask, { path, filters, isWritable, actions }: Declaration) {
  const names = [...filters, 'sort', 'since', 'until', 'limit', 'cursor'];
  const readPageOf = async (request: Request) => readPage(await ask(request), isRecord);
  const reads = {
    list({ cursor: _, ...options }: Options = {}) {
      // Checked here, since a generator would check them only when the first record is read.
      toRequest(path, names, options, 'list');
      return walkPages(undefined, (cursor) => readPageOf(toRequest(path, names, { ...options, cursor }, 'list')));
    },
    listPage: async (options: Options = {}) => readPageOf(toRequest(path, names, options, 'listPage')),
    get: async (id: string, options: Options = {}) =>
      readRecord(await ask(toRequest(`${path}/${requireUuid(id, 'id')}`, [], options, 'get'))),
  };
  return isWritable ? { ...reads, ...writesOf(ask, path, actions) } : reads;
}

function writesOf(ask: Ask, path: string, actions: Declaration['actions']) {
  const pathOf = (id: string) => `${path}/${requireUuid(id, 'id')}`;
  const write = async (request: Request, options: ChangeOptions = {}) =>
    readRecord(await ask(toWrite(request, options)));
  const transitions = Object.entries(actions).map(([name, takesBody]: [string, boolean]) => {
    const run = async (id: string, body: object | undefined, options?: ChangeOptions) =>
      write({ method: 'POST', path: `${pathOf(id)}/${name}`, ...(body && { body }) }, options);
    return [
      name,
      takesBody
        ? async (id: string, input: object = {}, options?: ChangeOptions) =>
            run(id, requireObject(input, `The second argument of ${name}`), options)
        : async (id: string, options?: ChangeOptions) => run(id, undefined, options),
    ];
  });
  return {
    create: async (input: object, options?: WriteOptions) =>
      write({ method: 'POST', path, body: requireObject(input, 'The argument of create') }, options),
    update: async (id: string, changes: object, options?: ChangeOptions) =>
      write(
        { method: 'PATCH', path: pathOf(id), body: requireObject(changes, 'The second argument of update') },
        options,
      ),
    ...Object.fromEntries(transitions),
  };
}

/** The key is chosen here, once for all attempts, so that a repeated request does not run twice. */
export function toWrite(request: Request, options: ChangeOptions): Request {
  const { idempotencyKey = crypto.randomUUID(), ifMatch, signal } = requireObject(options, 'The options of a write');
  const headers = {
    'idempotency-key': requireToken(idempotencyKey, 'idempotencyKey'),
    ...(ifMatch !== undefined && { 'if-match': requireToken(ifMatch, 'ifMatch') }),
  };
  return { ...request, headers, signal: optionalSignal(signal) };
}

function toRequest(path: string, names: readonly string[], options: Options, call: string): Request {
  const given = requireObject(options, `The options of ${call}`);
  const query = new URLSearchParams();
  for (const name of names) {
    const value = name === 'limit' ? optionalCount(given[name], name) : optionalText(given[name], name);
    if (value !== undefined) query.set(name, String(value));
  }
  const text = String(query);
  return { path: text ? `${path}?${text}` : path, signal: optionalSignal(given.signal) };
}

function readRecord(response: ApiResponse) {
  const etag = response.headers.get('etag');
  if (!isRecord(response.json) || etag === null) throw invalidResponse(response);
  return { ...response.json, etag };
}

function readObject(response: ApiResponse) {
  if (!isObject(response.json)) throw invalidResponse(response);
  return response.json;
}

function isRecord(value: unknown): value is { id: string } {
  return typeof fieldsOf(value).id === 'string';
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
