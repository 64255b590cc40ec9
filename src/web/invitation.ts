import type { FastifyInstance } from 'fastify';
import type { WebParts } from './parts.ts';

/** What a one-time link leads to. */
export function mountInvitation(_host: FastifyInstance, _parts: WebParts): void {}
