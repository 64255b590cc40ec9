import underPressure from '@fastify/under-pressure';
import type { FastifyInstance } from 'fastify';
import { Overloaded } from '../lib/errors.ts';
import type { OverloadLimit } from './timeouts.ts';

/** Route option for health checks: they still succeed on an overloaded node. */
export const EVEN_IF_OVERLOADED = { config: { pressureHandler: () => undefined } };

export function shedLoad(host: FastifyInstance, limit: OverloadLimit): void {
  host.register(underPressure, {
    ...limit,
    // Infinity means that one stall covered the whole interval, so there was no sample.
    pressureHandler: (_request, _reply, _type, delay) =>
      delay === Number.POSITIVE_INFINITY ? undefined : Promise.reject(new Overloaded()),
  });
}
