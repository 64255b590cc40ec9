import type { FastifyRequest } from 'fastify';
import type { Html } from '../../lib/html.ts';
import type { PageContext } from '../layout.ts';

/** A part of the site in which apps are kept: a business's own, or the platform's. The pages are the same in both. */
export interface AppSection {
  path: string;
  title: string;
  /** What stands at the top of each of its pages. */
  above?(context: PageContext): Html;
  /** Whether it makes sense to open an app here to other businesses. */
  canOpenToAnyBusiness: boolean;
  /** Lets in whoever may look, and throws for anyone else. */
  enter(request: FastifyRequest): Promise<Entry>;
}

export interface Entry {
  context: PageContext;
  /** Null for the platform. */
  ownerBusinessId: string | null;
  intro: string;
  canChange: boolean;
}
