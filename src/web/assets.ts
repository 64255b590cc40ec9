import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import staticFiles from '@fastify/static';
import type { FastifyInstance } from 'fastify';
import { PACKAGE_ROOT } from '../lib/package.ts';
import { sha256 } from '../lib/secrets.ts';

const FOLDER = new URL('src/web/assets/', PACKAGE_ROOT);

export const stylesheetPath = versionedPath('gatehouse.css');
export const scriptPath = versionedPath('gatehouse.js');
export const passkeyScriptPath = versionedPath('passkeys.js');
export const iconPath = versionedPath('icon.svg');

/** The URL changes with the content, so a browser may cache it for good. */
function versionedPath(name: string): string {
  return `/assets/${name}?v=${sha256(readFileSync(new URL(name, FOLDER))).slice(0, 8)}`;
}

export function mountAssets(host: FastifyInstance): void {
  host.register(staticFiles, {
    root: fileURLToPath(FOLDER),
    prefix: '/assets/',
    index: false,
    decorateReply: false,
    maxAge: '1y',
    immutable: true,
    setHeaders: (reply) => reply.header('cross-origin-resource-policy', 'same-origin'),
  });
}
