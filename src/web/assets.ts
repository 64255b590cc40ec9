import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import fastifyStatic from '@fastify/static';
import type { FastifyInstance } from 'fastify';
import { sha256 } from '../lib/secrets.ts';

const folder = new URL('./assets/', import.meta.url);

export const stylesheetPath = versioned('gatehouse.css');
export const scriptPath = versioned('gatehouse.js');
export const passkeyScriptPath = versioned('passkeys.js');
export const iconPath = versioned('icon.svg');

export async function mountAssets(host: FastifyInstance): Promise<void> {
  await host.register(fastifyStatic, {
    root: fileURLToPath(folder),
    prefix: '/assets/',
    index: false,
    maxAge: '365d',
    immutable: true,
    decorateReply: false,
  });
}

/** The address changes with the file, so that a browser can keep it for ever. */
function versioned(name: string): string {
  return `/assets/${name}?v=${sha256(readFileSync(new URL(name, folder))).slice(0, 8)}`;
}
