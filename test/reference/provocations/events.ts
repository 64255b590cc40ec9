import { OPERATOR } from '../../../src/audit/entries.ts';
import { pauseApp, resumeApp } from '../../../src/grants/suspension.ts';
import type { Answer } from '../../support/client.ts';
import type { World } from '../../support/world.ts';
import { type Provocation, provocationsOf } from './provocation.ts';

/** An app reads its events again, with its credentials or with others. */
export function askEvents(world: World, { query = '', secret = world.ledger.secret } = {}): Promise<Answer> {
  const authorization = `Basic ${Buffer.from(`${world.ledger.id}:${secret}`).toString('base64')}`;
  return world.get(`/api/v1/events${query}`, { authorization });
}

async function askPaused(world: World): Promise<Answer> {
  const db = world.storage().durable;
  await pauseApp(OPERATOR, db, { app: world.ledger }, world.clock());
  const answer = await askEvents(world);
  await resumeApp(OPERATOR, db, world.ledger, world.clock());
  return answer;
}

export function eventProvocations(world: World): Provocation[] {
  return provocationsOf('listEvents', [
    [200, 'none', 'a request that is right', () => askEvents(world)],
    [400, 'value_not_allowed', 'a limit of nothing', () => askEvents(world, { query: '?limit=0' })],
    [400, 'value_not_allowed', 'a cursor that is none', () => askEvents(world, { query: '?cursor=x' })],
    [400, 'field_repeated', 'a limit that comes twice', () => askEvents(world, { query: '?limit=1&limit=1' })],
    [401, 'credentials_missing', 'nobody', () => world.get('/api/v1/events')],
    [401, 'credentials_malformed', 'a token', () => world.get('/api/v1/events', { authorization: 'Bearer x' })],
    [401, 'credentials_wrong', 'a wrong secret', () => askEvents(world, { secret: 'x' })],
    [403, 'app_paused', 'a paused app', () => askPaused(world)],
  ]);
}
