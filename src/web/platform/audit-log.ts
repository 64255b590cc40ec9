import type { FastifyInstance } from 'fastify';
import type { WebParts } from '../parts.ts';

/** What was done anywhere. */
export function mountPlatformAuditLog(_host: FastifyInstance, _parts: WebParts): void {}
