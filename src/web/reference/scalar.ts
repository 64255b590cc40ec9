import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { type FastifyInstance, fastify } from 'fastify';
import { PACKAGE_ROOT } from '../../lib/package.ts';
import { sha256 } from '../../lib/secrets.ts';

const PATH = '/assets/scalar.js';

/** In the bundle for operators, where scripts/build.ts writes it. @fastify/static serves it. */
const FILE = new URL('src/web/assets/scalar.js', PACKAGE_ROOT);

let version: Promise<string> | undefined;

/** The URL of Scalar's script, which changes with the content. Read on first use: the script has megabytes. */
export async function findScalarPath(): Promise<string> {
  version ??= (existsSync(FILE) ? readFile(FILE) : readExtracted()).then((content) => sha256(content).slice(0, 8));
  return `${PATH}?v=${await version}`;
}

/** A checkout has the script only inside the npm package. */
export function mountScalar(host: FastifyInstance): void {
  if (existsSync(FILE)) return;
  host.get(PATH, { schema: { hide: true } }, async (_, reply) =>
    reply
      .header('cache-control', 'public, max-age=31536000, immutable')
      .header('cross-origin-resource-policy', 'same-origin')
      .type('text/javascript; charset=utf-8')
      .send(await readExtracted()),
  );
}

let extracted: Promise<string> | undefined;

/** Runs once: it starts a server, and anyone can request the script. */
function readExtracted(): Promise<string> {
  extracted ??= extractScalar();
  return extracted;
}

/** The package is a Fastify plugin that serves its script. Only the script is used: its page has an inline script. */
export async function extractScalar(): Promise<string> {
  const { default: plugin } = await import('@scalar/fastify-api-reference');
  const host = fastify();
  await host.register(plugin, { routePrefix: '/docs', configuration: { url: '/openapi.json' } });
  const { body, statusCode } = await host.inject('/docs/js/scalar.js');
  await host.close();
  if (statusCode !== 200) throw new Error(`@scalar/fastify-api-reference responded with ${statusCode}.`);
  return body;
}
