import type { FastifyRequest } from 'fastify';
import { normalizeEmail } from '../lib/email-addresses.ts';
import { TooManyRequests } from '../lib/errors.ts';
import { networkOf } from '../lib/ip-addresses.ts';
import type { WebDeps } from './deps.ts';

/**
 * Counts a mail that a person requests, by network and by recipient, whether or not it is sent: the limits must not
 * reveal which addresses have an account.
 */
export async function countMail({ limits }: WebDeps, request: FastifyRequest, email: string): Promise<void> {
  await limits.mailPerNetwork.count(networkOf(request.ip));
  await limits.mailPerAddress.count(email);
}

/** For a mail that can be left out: the page shows the link as well. */
export async function isMailAllowed(deps: WebDeps, request: FastifyRequest, email: string): Promise<boolean> {
  try {
    await countMail(deps, request, normalizeEmail(email));
    return true;
  } catch (error) {
    if (error instanceof TooManyRequests) return false;
    throw error;
  }
}
