import { optionalCount, optionalText, requireObject, requireUuid } from './arguments.ts';
import { GatehouseError } from './errors.ts';
import { LONGEST_LINK, nextTarget } from './links.ts';
import { type Answer, fieldsOf, type Request, unreadable } from './requests.ts';

/** The statuses that are known; more may be added. */
export type InvoiceStatus = 'DRAFT' | 'SENT' | 'PAID' | 'OVERDUE' | 'VOID' | (string & Record<never, never>);

/** An invoice as Gatehouse gives it. Fields that are added one day are kept. */
export interface Invoice {
  id: string;
  /** The number that people see. */
  number: string;
  status: InvoiceStatus;
  /** An exact decimal, such as `1234.50`. Text, since a float would round it. */
  total: string;
  currency: string;
  customerId: string;
}

/** Some invoices, and where the next ones begin. */
export interface InvoicePage {
  /** The newest first. */
  invoices: Invoice[];
  /** To be given as `cursor` for the next page; undefined on the last one. */
  nextCursor: string | undefined;
}

/** Which page of invoices. */
export interface InvoicePageOptions {
  status?: InvoiceStatus | undefined;
  /** 1 to 200; 50 if left out. */
  limit?: number | undefined;
  /** The `nextCursor` of the page before. */
  cursor?: string | undefined;
}

/** Which invoices to walk through. */
export interface InvoicesOptions {
  status?: InvoiceStatus | undefined;
  /** How many are read at a time: 1 to 200; 50 if left out. */
  pageSize?: number | undefined;
}

const PATH = '/api/v1/accounting/invoices';

export function askForPage(businessId: string, options: InvoicePageOptions): Request {
  const given = requireObject(options, 'The second argument of invoicePage');
  const headers = { 'x-business-id': requireUuid(businessId, 'businessId') };
  const query = new URLSearchParams();
  const wanted = {
    status: optionalText(given.status, 'status'),
    limit: optionalCount(given.limit, 'limit'),
    cursor: optionalText(given.cursor, 'cursor'),
  };
  for (const [name, value] of Object.entries(wanted)) if (value !== undefined) query.set(name, String(value));
  return { path: `${PATH}?${query}`, headers };
}

export function readPage(answer: Answer): InvoicePage {
  const { json, headers } = answer;
  const link = headers.get('link') ?? '';
  // Without its link, a page would look like the last one.
  if (!Array.isArray(json) || !json.every(isInvoice) || link.length > LONGEST_LINK) throw unreadable(answer);
  return { invoices: json, nextCursor: cursorIn(nextTarget(link)) };
}

type ReadPage = (options: InvoicePageOptions) => Promise<InvoicePage>;

/** One page at a time, and only as far as someone reads on. */
export async function* walkPages(
  { status, pageSize }: InvoicesOptions,
  readPage: ReadPage,
): AsyncGenerator<Invoice, void, undefined> {
  const seen = new Set<string | undefined>();
  let cursor: string | undefined;
  do {
    const page: InvoicePage = await readPage({ status, limit: pageSize, cursor });
    yield* page.invoices;
    seen.add(cursor);
    cursor = page.nextCursor;
    if (cursor !== undefined && seen.has(cursor)) throw goesInCircles();
  } while (cursor !== undefined);
}

function goesInCircles(): GatehouseError {
  const description = 'A page of invoices named one as the next that had been read already.';
  return new GatehouseError({ code: 'unreadable_answer', description });
}

/** The address itself is never followed: it could lead the token elsewhere. */
function cursorIn(target: string): string | undefined {
  return new URLSearchParams(target.replace(/^[^?]*\??/, '')).get('cursor') ?? undefined;
}

function isInvoice(value: unknown): value is Invoice {
  const { id, number, status, total, currency, customerId } = fieldsOf(value);
  return [id, number, status, total, currency, customerId].every((field) => typeof field === 'string');
}
