import type { FastifyInstance } from 'fastify';
import type { WebParts } from '../parts.ts';

/** Every user. */
export function mountUsers(_host: FastifyInstance, _parts: WebParts): void {}
