import { findFirstUser } from '../grants/transferred-grants.ts';
import { ApiError } from '../http/errors.ts';
import { DAY } from '../lib/clock.ts';
import { sha256 } from '../lib/secrets.ts';
import type { Access } from '../oauth/bearer.ts';
import { retentionStep } from '../storage/retention.ts';
import { type Database, inTransaction } from '../storage/storage.ts';
import type { Row } from '../storage/tables.ts';
import type { ApiResult } from './protected-endpoint.ts';

/** How long a response is repeated. */
const KEPT_FOR = DAY;

const KEY = /^[\x21-\x7e]{1,255}$/;

interface Attempt {
  access: Access;
  /** The `Idempotency-Key` header. */
  key: string | undefined;
  method: string;
  url: string;
  body: unknown;
}

/**
 * Runs `work` in a transaction. With an idempotency key it runs once per app, business and the user who allowed the app, and
 * further requests with the key get the same response. A request that fails leaves nothing behind, so that it can be sent again.
 */
export async function runOnce(
  db: Database,
  attempt: Attempt,
  now: number,
  work: (tx: Database) => Promise<ApiResult>,
): Promise<ApiResult> {
  const { key } = attempt;
  if (key === undefined) return inTransaction(db, work);
  if (!KEY.test(key)) throw keyMalformed();
  return inTransaction(db, async (tx) => {
    const { businessId, appId } = attempt.access;
    // All users of an assistant share its app id, and models choose keys like `contact-1`.
    const userId = await findFirstUser(tx, attempt.access);
    const id = { business_id: businessId, app_id: appId, user_id: userId, key };
    const requestHash = hashRequest(attempt);
    const earlier = await claimKey(tx, id, requestHash, now);
    if (earlier) return repeatResponse(earlier, requestHash);
    const result = await work(tx);
    const { status = 200, ...response } = result;
    await tx
      .updateTable('idempotency_keys')
      .set({ status, response: JSON.stringify(response) })
      .where('business_id', '=', id.business_id)
      .where('app_id', '=', id.app_id)
      .where('user_id', '=', id.user_id)
      .where('key', '=', key)
      .execute();
    return result;
  });
}

interface KeyId {
  business_id: string;
  app_id: string;
  user_id: string;
  key: string;
}

/** Inserts the key, or returns the row of an earlier request with it that is not older than a day. */
async function claimKey(tx: Database, id: KeyId, requestHash: string, now: number) {
  for (;;) {
    // Waits for a concurrent request with the same key to commit.
    const { numInsertedOrUpdatedRows } = await tx
      .insertInto('idempotency_keys')
      .values({ ...id, request_hash: requestHash, status: 0, response: '', created_at: now })
      .onConflict((conflict) => conflict.columns(['business_id', 'app_id', 'user_id', 'key']).doNothing())
      .executeTakeFirstOrThrow();
    if (numInsertedOrUpdatedRows) return undefined;
    const earlier = await tx
      .selectFrom('idempotency_keys')
      .selectAll()
      .where('business_id', '=', id.business_id)
      .where('app_id', '=', id.app_id)
      .where('user_id', '=', id.user_id)
      .where('key', '=', id.key)
      .executeTakeFirst();
    if (earlier && earlier.created_at > now - KEPT_FOR) return earlier;
    // The retention job removes such rows, too, at any time.
    await tx
      .deleteFrom('idempotency_keys')
      .where('business_id', '=', id.business_id)
      .where('app_id', '=', id.app_id)
      .where('user_id', '=', id.user_id)
      .where('key', '=', id.key)
      .where('created_at', '<=', now - KEPT_FOR)
      .execute();
  }
}

function repeatResponse(stored: Row<'idempotency_keys'>, requestHash: string): ApiResult {
  if (stored.request_hash !== requestHash) throw keyReused();
  const response: ApiResult = JSON.parse(stored.response);
  return { ...response, status: stored.status, headers: { ...response.headers, 'idempotency-replayed': 'true' } };
}

function hashRequest({ method, url, body }: Attempt): string {
  return sha256(JSON.stringify([method, url, body ?? null]));
}

function keyMalformed(): ApiError {
  const description = 'An Idempotency-Key must have 1 to 255 visible ASCII characters, such as a UUID.';
  return new ApiError({ status: 400, code: 'invalid_request', reason: 'idempotency_key_malformed', description });
}

function keyReused(): ApiError {
  const description = 'This Idempotency-Key was used for another request. Use a new one for each operation.';
  return new ApiError({ status: 422, code: 'invalid_request', reason: 'idempotency_key_reused', description });
}

export const oldIdempotencyKeys = retentionStep(
  'idempotency_keys',
  ['business_id', 'app_id', 'user_id', 'key'],
  'created_at',
  (now) => now - KEPT_FOR,
);
