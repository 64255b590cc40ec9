export type { Access, RequestHeaders } from './checks.ts';
export { type ErrorBody, GuardError } from './errors.ts';
export { createGuard, type Guard } from './guard.ts';
export type { GuardOptions } from './options.ts';
