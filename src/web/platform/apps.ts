import type { FastifyInstance } from 'fastify';
import type { WebParts } from '../parts.ts';

/** Every app, whoever owns it. */
export function mountAllApps(_host: FastifyInstance, _parts: WebParts): void {}
