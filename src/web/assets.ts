import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import fastifyStatic from '@fastify/static';
import type { FastifyInstance } from 'fastify';

const folder = new URL('./assets/', import.meta.url);
const version = createHash('sha256')
  .update(readFileSync(new URL('gatehouse.css', folder)))
  .digest('hex')
  .slice(0, 8);

/** The address changes with the file, so that it can be kept for ever. */
export const stylesheetPath = `/assets/gatehouse.css?v=${version}`;

export async function mountAssets(host: FastifyInstance): Promise<void> {
  await host.register(fastifyStatic, {
    root: folder.pathname,
    prefix: '/assets/',
    index: false,
    maxAge: '365d',
    immutable: true,
    decorateReply: false,
  });
}
