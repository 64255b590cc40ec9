import type { FastifyInstance } from 'fastify';
import type { WebParts } from '../parts.ts';

/** Passkeys of the signed-in user. */
export function mountPasskeys(_host: FastifyInstance, _parts: WebParts): void {}
