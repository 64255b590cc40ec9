import type { FastifyRequest } from 'fastify';
import type { App } from '../../../apps/apps.ts';
import { isId } from '../../../lib/ids.ts';
import { type Endpoint, findEndpoint } from '../../../webhooks/endpoints.ts';
import { notFound } from '../../errors.ts';
import type { AppPages, AppSection, Viewer } from '../app-page.ts';

/** The app whose endpoints a page shows, and the path of their list. */
export interface EndpointListContext {
  section: AppSection;
  viewer: Viewer;
  app: App;
  path: string;
}

/** One endpoint, with the path of its page. */
export interface EndpointContext extends EndpointListContext {
  endpoint: Endpoint;
  listPath: string;
}

/** Only those who may change the app can see its endpoints: an address can be a secret. */
export async function loadEndpointList(
  { section, loadEditableApp }: AppPages,
  request: FastifyRequest<{ Params: { id: string } }>,
): Promise<EndpointListContext> {
  const { viewer, app, path } = await loadEditableApp(request);
  return { section, viewer, app, path: `${path}/endpoints` };
}

export async function loadEndpoint(
  pages: AppPages,
  request: FastifyRequest<{ Params: { id: string; endpoint: string } }>,
): Promise<EndpointContext> {
  const list = await loadEndpointList(pages, request);
  const { endpoint: id } = request.params;
  const endpoint = isId(id) ? await findEndpoint(pages.db, list.app.id, id) : undefined;
  if (!endpoint) throw notFound();
  return { ...list, endpoint, listPath: list.path, path: `${list.path}/${endpoint.id}` };
}
