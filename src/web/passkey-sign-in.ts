import type { FastifyInstance } from 'fastify';
import type { WebParts } from './parts.ts';

/** Sign-in without a password. */
export function mountPasskeySignIn(_host: FastifyInstance, _parts: WebParts): void {}
