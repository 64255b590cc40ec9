import { CALLER_COLUMNS, type CallerRow, type CallingApp, readCaller } from '../apps/proving.ts';
import { prepare } from '../storage/prepared.ts';
import { identifyApp, type PresentedCredentials } from './app-authentication.ts';
import { type Grant, grantFrom, selectStanding } from './grant-standing.ts';
import type { TokenParts } from './token-endpoint.ts';
import { type ProvenToken, proveBy } from './token-proof.ts';
import type { OpenedToken } from './tokens.ts';

/** The app that sends a token, and what is known of the token, if it is one of ours: one statement tells of both. */
export async function identifyWithToken(
  parts: TokenParts,
  presented: PresentedCredentials,
  token: OpenedToken | undefined,
  now: number,
): Promise<{ app: CallingApp; proven: ProvenToken | undefined }> {
  if (!token) return { app: await identifyApp(parts, presented, now), proven: undefined };
  const { grantId, rotation } = token;
  let grant: Grant | undefined;
  const app = await identifyApp(parts, presented, now, async (db, appId) => {
    const { rows } = await readBoth(db, { appId, grantId, rotation });
    grant = rows[0] && grantFrom(rows[0]);
    // There is no such grant, or no such app.
    return rows.length > 0 ? rows : readCaller(db, appId);
  });
  return { app, proven: proveBy(grant, token) };
}

const readBoth = prepare((db, { appId, grantId, rotation }: { appId: string; grantId: string; rotation: number }) =>
  selectStanding(db, rotation)
    .innerJoin('apps as caller', (join) => join.on('caller.id', '=', appId).on('caller.deleted_at', 'is', null))
    .leftJoin('app_secrets', 'app_secrets.app_id', 'caller.id')
    .select(CALLER_COLUMNS)
    // An app that may be missing, as that of a grant may be, is not joined like this.
    .$narrowType<Pick<CallerRow, 'caller_id' | 'caller_redirect_uris'>>()
    .where('grants.id', '=', grantId),
);
