import { readFileSync } from 'node:fs';
import type { FastifyInstance } from 'fastify';
import { sha256 } from '../lib/secrets.ts';

interface Asset {
  type: string;
  body: Buffer;
  etag: string;
}

/** So few and so small that they are kept at hand. What is not among them is not there. */
const assets = new Map<string, Asset>();

export const stylesheetPath = add('gatehouse.css', 'text/css; charset=utf-8');
export const scriptPath = add('gatehouse.js', 'text/javascript; charset=utf-8');
export const passkeyScriptPath = add('passkeys.js', 'text/javascript; charset=utf-8');
export const iconPath = add('icon.svg', 'image/svg+xml');

/** The address changes with the file, so that a browser can keep it for ever. */
function add(name: string, type: string): string {
  const body = readFileSync(new URL(`./assets/${name}`, import.meta.url));
  const version = sha256(body).slice(0, 8);
  assets.set(name, { type, body, etag: `"${version}"` });
  return `/assets/${name}?v=${version}`;
}

export function mountAssets(host: FastifyInstance): void {
  host.route<{ Params: { '*': string } }>({
    // Fastify's own HEAD would say that what has not changed (304) is empty.
    method: ['GET', 'HEAD'],
    url: '/assets/*',
    async handler({ params, headers }, reply) {
      const asset = assets.get(params['*']);
      if (!asset) return reply.callNotFound();
      const { type, body, etag } = asset;
      reply.header('cross-origin-resource-policy', 'same-origin');
      reply.headers({ 'cache-control': 'public, max-age=31536000, immutable', etag });
      return isKnown(etag, headers['if-none-match']) ? reply.code(304).send() : reply.type(type).send(body);
    },
  });
}

/** RFC 9110 §13.1.2. */
function isKnown(etag: string, ifNoneMatch = ''): boolean {
  return ifNoneMatch.split(',').some((tag) => ['*', etag, `W/${etag}`].includes(tag.trim()));
}
