import type { FastifyInstance } from 'fastify';
import { findLogo } from '../apps/logos.ts';
import type { Storage } from '../storage/storage.ts';
import { notFound } from './errors.ts';

export function logoPath(hash: string): string {
  return `/logos/${hash}`;
}

/**
 * The logos of apps. Mounted apart from the pages, so that it neither reads nor sets a cookie. The address is the hash of the
 * content, so a browser may cache it permanently. If someone opens it as a page, nothing in it runs.
 */
export function mountLogos(host: FastifyInstance, { storage }: { storage: Storage }): void {
  host.get<{ Params: { logo: string } }>('/logos/:logo', async (request, reply) => {
    const { logo: hash } = request.params;
    const logo = /^[\w-]{43}$/.test(hash) ? await findLogo(storage.durable, hash) : undefined;
    if (!logo) throw notFound();
    return reply
      .header('content-type', logo.type)
      .header('content-security-policy', "default-src 'none'; frame-ancestors 'none'; sandbox")
      .header('cross-origin-resource-policy', 'same-origin')
      .header('referrer-policy', 'no-referrer')
      .header('cache-control', 'public, max-age=31536000, immutable')
      .send(Buffer.from(logo.bytes));
  });
}
