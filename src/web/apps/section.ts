import type { FastifyRequest } from 'fastify';
import type { Html } from '../../lib/html.ts';
import type { RouteAccess } from '../access.ts';
import type { PageContext } from '../layout.ts';

/** A part of the site in which apps are kept: a business's own, or the platform's. The pages are the same in both. */
export interface AppSection {
  path: string;
  title: string;
  /** What stands at the top of each of its pages. */
  above?(context: PageContext): Html;
  /** Whether it makes sense to open an app here to other businesses. */
  canOpenToAnyBusiness: boolean;
  /** Who may open the list of apps, an app, and what changes an app. */
  list: RouteAccess;
  view: RouteAccess;
  edit: RouteAccess;
  enter(request: FastifyRequest): Promise<Entry>;
}

export interface Entry {
  context: PageContext;
  /** Null for the platform. */
  ownerBusinessId: string | null;
  intro: string;
  canChange: boolean;
}
