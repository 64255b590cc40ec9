import type { FastifyInstance } from 'fastify';
import type { WebParts } from '../parts.ts';

/** Who belongs to the current business, and who is invited. */
export function mountMembers(_host: FastifyInstance, _parts: WebParts): void {}
