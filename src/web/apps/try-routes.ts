import type { FastifyInstance } from 'fastify';
import type { Desk } from './desk.ts';

/** The flow for real, step by step. */
export function mountTryIt(_host: FastifyInstance, _desk: Desk): void {}
