import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import staticFiles from '@fastify/static';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { PACKAGE_ROOT } from '../lib/package.ts';
import { sha256 } from '../lib/secrets.ts';

const FOLDER = new URL('src/web/assets/', PACKAGE_ROOT);
const STYLES = new URL('src/web/styles/', PACKAGE_ROOT);
const STYLE_FILES = ['tokens', 'base', 'layout', 'forms', 'components', 'pages', 'reference'];

export const fontPath = versionedPath('geist-latin.woff2');
export const scriptPath = versionedPath('gatehouse.js');
export const passkeyScriptPath = versionedPath('passkeys.js');
export const referenceScriptPath = versionedPath('reference.js');
export const referenceStylesheetPath = versionedPath('reference.css');
export const iconPath = versionedPath('icon.svg');

/** One file, so that the first page waits for one request only. */
const stylesheet = STYLE_FILES.map((name) => readFileSync(new URL(`${name}.css`, STYLES), 'utf8'))
  .join('\n')
  .replace(/url\("([\w-]+\.\w+)"\)/g, (_, name) => `url("${versionedPath(name)}")`);
const stylesheetTag = `"${sha256(stylesheet)}"`;
export const stylesheetPath = addVersion('gatehouse.css', stylesheet);

function versionedPath(name: string): string {
  return addVersion(name, readFileSync(new URL(name, FOLDER)));
}

/** The URL changes with the content, so a browser may cache it permanently. */
function addVersion(name: string, content: string | Buffer): string {
  return `/assets/${name}?v=${sha256(content).slice(0, 8)}`;
}

export function mountAssets(host: FastifyInstance): void {
  host.route({ method: ['GET', 'HEAD'], url: '/assets/gatehouse.css', handler: sendStylesheet });
  host.register(staticFiles, {
    root: fileURLToPath(FOLDER),
    prefix: '/assets/',
    index: false,
    decorateReply: false,
    maxAge: '1y',
    immutable: true,
    preCompressed: true,
    setHeaders: (reply) => reply.header('cross-origin-resource-policy', 'same-origin'),
  });
}

function sendStylesheet({ headers }: FastifyRequest, reply: FastifyReply): FastifyReply {
  reply.headers({
    'cache-control': 'public, max-age=31536000, immutable',
    'cross-origin-resource-policy': 'same-origin',
    'content-type': 'text/css; charset=utf-8',
    etag: stylesheetTag,
  });
  return headers['if-none-match']?.includes(stylesheetTag) ? reply.code(304).send() : reply.send(stylesheet);
}
