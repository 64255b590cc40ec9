import underPressure from '@fastify/under-pressure';
import type { FastifyInstance } from 'fastify';
import { SECOND } from '../lib/clock.ts';
import { Overloaded } from '../lib/errors.ts';

/**
 * In milliseconds: requests get a 503 while the mean event loop delay of the last interval exceeds the maximum. 0 turns it
 * off. A single stall is not overload: the mean includes the many short delays before and after it.
 */
export interface OverloadLimit {
  maxEventLoopDelay: number;
  sampleInterval: number;
}

export const OVERLOAD_LIMIT: OverloadLimit = { maxEventLoopDelay: SECOND / 2, sampleInterval: SECOND };

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
