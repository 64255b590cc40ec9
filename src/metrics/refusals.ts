import { TooManyRequests } from '../lib/errors.ts';
import { newCounter } from '../lib/metrics.ts';
import type { RateLimit } from '../lib/rate-limit.ts';

/** By the names of their settings, without what those have in common. */
const LIMITS = ['per_app', 'per_grant', 'wrong_secrets', 'sign_in_per_account', 'sign_in_per_address'];

export function newRefusalMetrics() {
  const help = 'Requests refused because a rate limit was reached, by limit.';
  const refused = newCounter('gatehouse_rate_limit_refusals_total', help, 'limit', LIMITS);
  return {
    metrics: [refused.metric],
    /** The same limit, which is seen to refuse. It has the name of its setting, as the code writes it. */
    watch(name: string, limit: RateLimit): RateLimit {
      const label = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
      const noting = async (decision: Promise<void>) => {
        try {
          await decision;
        } catch (error) {
          if (error instanceof TooManyRequests) refused.add(label, 1);
          throw error;
        }
      };
      return { ...limit, count: (key) => noting(limit.count(key)), check: (key) => noting(limit.check(key)) };
    },
  };
}
