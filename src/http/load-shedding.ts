import underPressure from '@fastify/under-pressure';
import type { FastifyInstance } from 'fastify';
import { Overloaded } from '../lib/errors.ts';
import type { OverloadLimit } from './timeouts.ts';

/** Route option for health checks: they still succeed on an overloaded node. */
export const EVEN_IF_OVERLOADED = { config: { pressureHandler: () => undefined } };

export function shedLoad(host: FastifyInstance, { minRequests, ...limit }: OverloadLimit): void {
  if (limit.maxEventLoopDelay === 0) return;
  let inProgress = 0;
  host.addHook('onRequest', (_request, { raw }, done) => {
    inProgress += 1;
    raw.on('close', () => {
      inProgress -= 1;
    });
    done();
  });
  host.register(underPressure, {
    ...limit,
    pressureHandler: (_request, _reply, _type, delay) => {
      // Infinity means that one stall covered the whole interval, so there was no sample.
      const isOverloaded = inProgress >= minRequests && delay !== Number.POSITIVE_INFINITY;
      return isOverloaded ? Promise.reject(new Overloaded()) : undefined;
    },
  });
}
