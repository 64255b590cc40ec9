import type { FastifyInstance } from 'fastify';
import type { WebParts } from '../parts.ts';

/** Every business. */
export function mountBusinesses(_host: FastifyInstance, _parts: WebParts): void {}
