import type { FastifyInstance } from 'fastify';
import { findOwnedApp } from '../../apps/app-search.ts';
import { endTokensOfApp } from '../../grants/app-tokens.ts';
import { countAffected } from '../../grants/impact.ts';
import { access } from '../access.ts';
import type { WebDeps } from '../deps.ts';
import { notFound } from '../errors.ts';
import { redirectWithFlash } from '../flash.ts';
import { loadPageContext } from '../page-context.ts';
import { actorOf, requireRecentSignIn } from '../session.ts';
import { END_TOKENS, endTokensQuestion } from '../token-ends.ts';
import { sendPlatformPage } from './page.ts';

type ForApp = { Params: { id: string } };

/** A platform admin ends every token of the app of any owner. */
export function mountEndOfTokens(host: FastifyInstance, deps: WebDeps): void {
  const { storage, clock } = deps;
  const route = `/platform/apps/:id/${END_TOKENS}`;
  const load = async (id: string) => {
    const app = await findOwnedApp(storage.durable, id);
    if (!app) throw notFound();
    return { app, path: `/platform/apps/${app.id}` };
  };

  host.get<ForApp>(route, access('platform_admin'), async (request, reply) => {
    const { app, path } = await load(request.params.id);
    requireRecentSignIn(request, `${path}/${END_TOKENS}`, clock());
    const context = await loadPageContext(deps, request);
    const impact = await countAffected(storage.durable, { appId: app.id }, clock());
    const asked = endTokensQuestion({ app, path, impact, csrf: context.csrf });
    return sendPlatformPage(reply, deps, { context, ...asked });
  });

  host.post<ForApp>(route, access('platform_admin'), async (request, reply) => {
    const { app, path } = await load(request.params.id);
    requireRecentSignIn(request, `${path}/${END_TOKENS}`, clock());
    await endTokensOfApp(actorOf(request), storage.durable, app, clock());
    return redirectWithFlash(reply, path, 'app_tokens_ended');
  });
}
