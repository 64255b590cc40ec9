import type { FastifyInstance } from 'fastify';
import { countAffected } from '../../grants/impact.ts';
import { endConnectionsOfUser } from '../../grants/user-connections.ts';
import { access } from '../access.ts';
import { endConnectionsQuestion } from '../connection-ends.ts';
import type { WebDeps } from '../deps.ts';
import { redirectWithFlash } from '../flash.ts';
import { sendPage } from '../layout.ts';
import { loadPageContext } from '../page-context.ts';
import { actorOf, requireRecentSignIn } from '../session.ts';

export const END_CONNECTIONS = '/settings/end-connections';
const BACK = { to: '/settings/connected-apps', name: 'Connected apps' };

/** A user ends all connections of their own, in every business. */
export function mountEndOfConnections(host: FastifyInstance, deps: WebDeps): void {
  const { storage, clock, platformName } = deps;

  host.get(END_CONNECTIONS, access('signed_in'), async (request, reply) => {
    requireRecentSignIn(request, END_CONNECTIONS, clock());
    const context = await loadPageContext(deps, request);
    const impact = await countAffected(storage.durable, { userId: context.user.id }, clock());
    const asked = { path: END_CONNECTIONS, back: BACK, impact, csrf: context.csrf };
    const { title, body } = endConnectionsQuestion(asked);
    return sendPage(reply, { title, platformName, width: 'wide', context, body });
  });

  host.post(END_CONNECTIONS, access('signed_in'), async (request, reply) => {
    requireRecentSignIn(request, END_CONNECTIONS, clock());
    const { user } = await loadPageContext(deps, request);
    await endConnectionsOfUser(actorOf(request), storage.durable, user, clock());
    return redirectWithFlash(reply, BACK.to, 'connections_ended');
  });
}
