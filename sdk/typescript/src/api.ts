import { optionalCount, optionalText, requireObject, requireToken, requireUuid } from './arguments.ts';
import type { BusinessApi } from './business-api.ts';
import { type ConnectionOptions, readConnection } from './connection.ts';
import {
  askForPage,
  type InvoicePage,
  type InvoicePageOptions,
  type InvoicesOptions,
  isInvoice,
} from './invoice-pages.ts';
import type { Invoice } from './invoices.ts';
import { type Me, readMe } from './me.ts';
import { type RequestOptions, toOwnRequest } from './own-requests.ts';
import { readPage, walkPages } from './paging.ts';
import { openBusiness } from './records.ts';
import { type ApiResponse, type Connection, fieldsOf, invalidResponse, type Request } from './requests.ts';
import { IDEMPOTENT, send } from './retries.ts';
import { type CallOptions, optionalSignal } from './signals.ts';

/** A business that a token acts in. */
export interface Business {
  id: string;
  name: string;
}

/** The business API of one grant. */
export interface Api {
  /** The user, business, app and scopes of the token. */
  me(options?: CallOptions): Promise<Me>;
  /** The businesses of the token: exactly one, at present. The other calls take its id. */
  businesses(options?: CallOptions): Promise<Business[]>;
  /** The records and reports of a business. Sends nothing yet. */
  business(businessId: string): BusinessApi;
  /** Sends a request to any other path of the API, with a valid token, and returns the response if it is successful. */
  request(path: string, options?: RequestOptions): Promise<ApiResponse>;
  /** An access token for requests of your own. `app.api` refreshes it before if it is about to expire. */
  getAccessToken(options?: CallOptions): Promise<string>;
  /**
   * One page of a business's invoices, the newest first.
   * @deprecated Use `business(businessId).invoices.listPage`.
   */
  invoicePage(businessId: string, options?: InvoicePageOptions): Promise<InvoicePage>;
  /**
   * Every invoice of a business, the newest first; pages are read as they are needed.
   * @deprecated Use `business(businessId).invoices.list`.
   */
  invoices(businessId: string, options?: InvoicesOptions): AsyncGenerator<Invoice, void, undefined>;
}

/** The address of Gatehouse, and an access token. */
export interface ApiOptions extends ConnectionOptions {
  accessToken: string;
}

/**
 * The business API with only an access token, also in a browser. It does not refresh: once the token has expired,
 * calls fail with `invalid_token`.
 */
export function createApi(options: ApiOptions): Api {
  const given = requireObject(options, 'The argument of createApi');
  const connection = readConnection(given);
  const accessToken = requireToken(given.accessToken, 'accessToken');
  return newApi(connection, { current: async () => accessToken, use: (call) => call(accessToken) });
}

/** Where the access tokens of an `Api` come from. */
export interface TokenSource {
  current(signal: AbortSignal | undefined): Promise<string>;
  /** Calls with a token that is valid at that moment. */
  use(call: (accessToken: string) => Promise<ApiResponse>, signal: AbortSignal | undefined): Promise<ApiResponse>;
}

export function newApi(connection: Connection, tokens: TokenSource): Api {
  const ask = (request: Request) =>
    tokens.use((accessToken) => {
      const headers = { ...request.headers, authorization: `Bearer ${accessToken}` };
      return send(connection, { ...request, headers }, IDEMPOTENT);
    }, request.signal);

  const get = async (path: string, options: CallOptions, name: string) => {
    const { signal } = requireObject(options, `The argument of ${name}`);
    return ask({ path, signal: optionalSignal(signal) });
  };
  const readInvoices = async (businessId: string, options: InvoicePageOptions) =>
    readPage(await ask(askForPage(businessId, options)), isInvoice);

  return {
    me: async (options = {}) => readMe(await get('/api/v1/me', options, 'me')),
    businesses: async (options = {}) => readBusinesses(await get('/api/v1/businesses', options, 'businesses')),
    business: (businessId) => openBusiness(ask, businessId),
    request: async (path, options = {}) => ask(toOwnRequest(path, options)),
    async getAccessToken(options = {}) {
      const { signal } = requireObject(options, 'The argument of getAccessToken');
      return tokens.current(optionalSignal(signal));
    },
    async invoicePage(businessId, options = {}) {
      const { items, nextCursor } = await readInvoices(businessId, options);
      return { invoices: items, nextCursor };
    },
    invoices(businessId, options = {}) {
      // Checked here, since a generator would check them only when the first invoice is read.
      requireUuid(businessId, 'businessId');
      const given = requireObject(options, 'The second argument of invoices');
      const { status } = given;
      optionalText(status, 'status');
      const limit = optionalCount(given.pageSize, 'pageSize');
      const signal = optionalSignal(given.signal);
      return walkPages(undefined, (cursor) => readInvoices(businessId, { status, limit, cursor, signal }));
    },
  };
}

function readBusinesses(response: ApiResponse): Business[] {
  const { json } = response;
  if (!Array.isArray(json) || !json.every(isBusiness)) throw invalidResponse(response);
  return json;
}

function isBusiness(value: unknown): value is Business {
  const { id, name } = fieldsOf(value);
  return typeof id === 'string' && typeof name === 'string';
}
