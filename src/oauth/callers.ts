import {
  type AuthenticatedClient,
  CALLER_COLUMNS,
  type CallerRow,
  type ReadCaller,
  readCaller,
} from '../apps/proving.ts';
import { type Grant, grantFrom, selectStanding } from '../grants/status.ts';
import { preparedQuery } from '../storage/prepared-query.ts';
import { authenticateClient, type ClientCredentials, type IdentifyingParts } from './client-authentication.ts';
import { type DecodedToken, proveBy, type VerifiedToken } from './tokens.ts';

/**
 * The app that sends a token, and what is known of the token, if it is one of ours. The grant is read beside the app, by the
 * same statement.
 */
export async function authenticateClientWithToken(
  { storage, limits }: IdentifyingParts,
  presented: ClientCredentials,
  token: DecodedToken | undefined,
  now: number,
): Promise<{ app: AuthenticatedClient; proven: VerifiedToken | undefined }> {
  if (!token) return { app: await authenticateClient({ storage, limits }, presented, now), proven: undefined };
  const { grantId, rotation } = token;
  let grant: Grant | undefined;
  const read: ReadCaller = async (db, appId) => {
    const { rows } = await readBoth(db, { appId, grantId, rotation });
    grant = rows[0] && grantFrom(rows[0]);
    // Nothing is found if either is missing, and who asks has to be known even where the grant is gone.
    return rows.length > 0 ? rows : readCaller(db, appId);
  };
  const app = await authenticateClient({ storage, limits, read }, presented, now);
  return { app, proven: proveBy(grant, token) };
}

const readBoth = preparedQuery(
  (db, { appId, grantId, rotation }: { appId: string; grantId: string; rotation: number }) =>
    selectStanding(db, rotation)
      .innerJoin('apps as caller', (join) => join.on('caller.id', '=', appId).on('caller.deleted_at', 'is', null))
      .leftJoin('app_secrets', 'app_secrets.app_id', 'caller.id')
      .select(CALLER_COLUMNS)
      // To the types these may be missing, since `apps`, the grant's own, may be: an inner join always has them.
      .$narrowType<Pick<CallerRow, 'caller_id' | 'caller_redirect_uris'>>()
      .where('grants.id', '=', grantId),
);
