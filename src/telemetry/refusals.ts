import { newCounter } from './registry.ts';

/** By the names of their settings, without what those have in common. */
const LIMITS = [
  'per_app',
  'per_grant',
  'per_user',
  'changes_per_user',
  'wrong_secrets',
  'sign_in_per_account',
  'sign_in_per_address',
];

export function newRefusalMetrics() {
  const help = 'Requests refused because a rate limit was reached, by limit.';
  const refused = newCounter('gatehouse_rate_limit_refusals_total', help, 'limit', LIMITS);
  return {
    metrics: [refused.metric],
    /** A limit has the name of its setting, as the code writes it. */
    ofLimit(name: string): () => void {
      const label = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
      return () => refused.add(label, 1);
    },
  };
}
