import type { FastifyInstance } from 'fastify';
import type { Desk } from './desk.ts';

/** What an app has asked for lately, and who has connected it. */
export function mountActivity(_host: FastifyInstance, _desk: Desk): void {}
