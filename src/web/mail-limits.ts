import type { FastifyRequest } from 'fastify';
import { networkOf } from '../lib/ip-addresses.ts';
import type { WebDeps } from './deps.ts';

/**
 * Counts a mail that a person asks for, by network and by recipient, whether or not it is sent: the limits must not
 * reveal which addresses have an account.
 */
export async function countMail({ limits }: WebDeps, request: FastifyRequest, email: string): Promise<void> {
  await limits.mailPerNetwork.count(networkOf(request.ip));
  await limits.mailPerAddress.count(email);
}
