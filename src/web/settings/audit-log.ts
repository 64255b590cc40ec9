import type { FastifyInstance } from 'fastify';
import type { WebParts } from '../parts.ts';

/** What was done in the current business, for its owners. */
export function mountAuditLog(_host: FastifyInstance, _parts: WebParts): void {}
