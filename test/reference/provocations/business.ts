import type { Operation } from '../../../src/web/reference/document.ts';
import { connectBusiness } from '../../support/business-api.ts';
import { once } from '../../support/once.ts';
import type { TestServer } from '../../support/test-server.ts';
import { type Provocation, provocationsOf } from './provocation.ts';

/** One operation of each kind. The others are generated from the same declarations. */
const KINDS = ['getInvoice', 'createInvoice', 'updateInvoice', 'payInvoice'];
/** Operations that are provoked with all their responses. */
const ELSEWHERE = ['me', 'listBusinesses', 'listInvoices'];

/** Errors of shared checks before the handler, which are provoked with `listInvoices` and the OAuth endpoints. */
const CHECKED_BEFORE =
  /^(401|403|413|415|429|500|503) |^400 (token_in_address|credentials_sent_twice|business_id_malformed|body_malformed)$/;

/** Whether the operation is one of the business API: it takes an access token. */
export function isBusinessApi({ security = [] }: Operation): boolean {
  return security.some((scheme) => 'oauth2' in scheme);
}

/** Whether a response is provoked with this very operation. */
export function isProvoked(operation: Operation, response: string): boolean {
  const { operationId } = operation;
  if (operationId === 'mcp') return response === '403 origin_not_allowed';
  if (!isBusinessApi(operation) || ELSEWHERE.includes(operationId)) return true;
  return KINDS.includes(operationId) && !CHECKED_BEFORE.test(response);
}

const INVOICES = '/api/v1/accounting/invoices';
const MISSING = `${INVOICES}/0190a6c6-0000-7000-8000-000000000000`;

export function businessProvocations(server: TestServer): Provocation[] {
  const api = once(() => connectBusiness(server, 'Provoked'));
  const post = async (path: string, body?: unknown, headers: Record<string, string> = {}) =>
    (await api()).send('POST', path, body, headers);
  const patch = async (path: string, body: unknown, headers: Record<string, string> = {}) =>
    (await api()).send('PATCH', path, body, headers);
  const customer = once(async () => (await post('/api/v1/crm/contacts', { name: 'Mara' })).body.id);
  const invoice = async () => ({
    currency: 'GBP',
    customerId: await customer(),
    lines: [{ description: 'Beans', quantity: '1', unitPrice: '1' }],
  });
  const draft = async () => `${INVOICES}/${(await post(INVOICES, await invoice())).body.id}`;
  const sent = async () => {
    const path = await draft();
    await post(`${path}/send`);
    return path;
  };
  const reuse = async (send: (headers: Record<string, string>, again: boolean) => Promise<unknown>, key: string) => {
    await send({ 'idempotency-key': key }, false);
    return send({ 'idempotency-key': key }, true) as ReturnType<typeof post>;
  };
  const change = { notes: 'Thank you' };
  const wrongKey = { 'idempotency-key': 'x'.repeat(256) };
  const [unquoted, outdated] = [{ 'if-match': '3' }, { 'if-match': '"9"' }];
  return [
    ...provocationsOf('getInvoice', [
      [200, 'none', 'an invoice', async () => (await api()).get(await draft())],
      [404, 'not_found', 'an id that no invoice has', async () => (await api()).get(MISSING)],
    ]),
    ...provocationsOf('createInvoice', [
      [201, 'none', 'an invoice', async () => post(INVOICES, await invoice())],
      [400, 'fields_invalid', 'an invoice without fields', () => post(INVOICES, {})],
      [
        400,
        'fields_invalid',
        'a field that no invoice has',
        async () => post(INVOICES, { ...(await invoice()), colour: 'red' }),
      ],
      [
        400,
        'idempotency_key_malformed',
        'a key that is too long',
        async () => post(INVOICES, await invoice(), wrongKey),
      ],
      [
        422,
        'idempotency_key_reused',
        'another body with the same key',
        () =>
          reuse(
            async (key, again) => post(INVOICES, { ...(await invoice()), number: again ? 'B' : 'A' }, key),
            'create',
          ),
      ],
    ]),
    ...provocationsOf('updateInvoice', [
      [200, 'none', 'a change', async () => patch(await draft(), change)],
      [400, 'fields_invalid', 'a change of nothing', async () => patch(await draft(), {})],
      [400, 'idempotency_key_malformed', 'a key that is too long', async () => patch(await draft(), change, wrongKey)],
      [400, 'if_match_malformed', 'an ETag without quotes', async () => patch(await draft(), change, unquoted)],
      [404, 'not_found', 'an id that no invoice has', () => patch(MISSING, change)],
      [409, 'state_not_allowed', 'a change of a sent invoice', async () => patch(await sent(), change)],
      [412, 'etag_mismatch', 'another version', async () => patch(await draft(), change, outdated)],
      [
        422,
        'idempotency_key_reused',
        'the same key for another invoice',
        () => reuse(async (key) => patch(await draft(), change, key), 'update'),
      ],
    ]),
    ...provocationsOf('payInvoice', [
      [200, 'none', 'a payment', async () => post(`${await sent()}/pay`)],
      [400, 'fields_invalid', 'a payment of too much', async () => post(`${await sent()}/pay`, { amount: '2' })],
      [
        400,
        'idempotency_key_malformed',
        'a key that is too long',
        async () => post(`${await sent()}/pay`, {}, wrongKey),
      ],
      [400, 'if_match_malformed', 'an ETag without quotes', async () => post(`${await sent()}/pay`, {}, unquoted)],
      [404, 'not_found', 'an id that no invoice has', () => post(`${MISSING}/pay`)],
      [409, 'state_not_allowed', 'a payment of a draft', async () => post(`${await draft()}/pay`)],
      [412, 'etag_mismatch', 'another version', async () => post(`${await sent()}/pay`, {}, outdated)],
      [
        422,
        'idempotency_key_reused',
        'the same key for another invoice',
        () => reuse(async (key) => post(`${await sent()}/pay`, {}, key), 'pay'),
      ],
    ]),
  ];
}
