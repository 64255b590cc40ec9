import type { FastifyReply, FastifyRequest } from 'fastify';
import type { App } from '../../../apps/apps.ts';
import { isId } from '../../../lib/ids.ts';
import { listDeliveries } from '../../../webhooks/deliveries.ts';
import { type Endpoint, findEndpoint, findSecretFingerprint } from '../../../webhooks/endpoints.ts';
import { visibleTo } from '../../../webhooks/visibility.ts';
import { notFound } from '../../errors.ts';
import type { Problem } from '../../forms.ts';
import type { AppSection, Desk, Entry } from '../app-page.ts';
import { type EndpointSettings, endpointBody } from './endpoint-views.ts';

type ForEndpoints = FastifyRequest<{ Params: { id: string } }>;
type ForEndpoint = FastifyRequest<{ Params: { id: string; endpoint: string } }>;

/** Whose endpoints, and where their pages are. */
export interface EndpointsOf {
  section: AppSection;
  entry: Entry;
  app: App;
  path: string;
}

export interface OneEndpoint extends EndpointsOf {
  endpoint: Endpoint;
  /** The list that it is in. */
  listPath: string;
}

export type EndpointDesk = ReturnType<typeof openEndpointDesk>;

const PAGE = 25;

/** What every page about endpoints does: let in, find the endpoint, show it with its log. */
export function openEndpointDesk(desk: Desk) {
  const { section, db, clock, show } = desk;

  /** To those who may look at the app but not change it, its endpoints do not exist: an address can be a secret. */
  async function enterEndpoints(request: ForEndpoints): Promise<EndpointsOf> {
    const { path, ...of } = await desk.enterApp(request);
    return { section, ...of, path: `${path}/endpoints` };
  }

  return {
    ...desk,
    enterEndpoints,

    async enterEndpoint(request: ForEndpoint): Promise<OneEndpoint> {
      const { path: listPath, ...of } = await enterEndpoints(request);
      const { endpoint: id } = request.params;
      const endpoint = isId(id) ? await findEndpoint(db, of.app.id, id) : undefined;
      if (!endpoint) throw notFound();
      return { ...of, endpoint, listPath, path: `${listPath}/${endpoint.id}` };
    },

    async showEndpoint(reply: FastifyReply, one: OneEndpoint, shown: Shown = {}): Promise<FastifyReply> {
      const { settings = one.endpoint, problem, before, notice } = shown;
      const found = await listDeliveries(db, { endpointId: one.endpoint.id, before, limit: PAGE + 1 });
      const deliveries = found.slice(0, PAGE);
      const older = found.length > PAGE ? deliveries.at(-1)?.eventId : undefined;
      const events = deliveries.flatMap(({ event }) => event ?? []);
      const readable = new Set(await visibleTo(db, one.app.id, events, clock()));
      const secretMark = await findSecretFingerprint(db, one.endpoint);
      const view = {
        ...one,
        settings,
        problem,
        notice,
        log: { deliveries, readable, older, before },
        secretMark,
        now: clock(),
      };
      return show(reply, one.entry, endpointBody(view), problem ? 400 : 200);
    },
  };
}

interface Shown {
  settings?: EndpointSettings;
  problem?: Problem;
  notice?: string | undefined;
  before?: string | undefined;
}
