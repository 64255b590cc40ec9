import { SECRET_KEY } from './seed.ts';

const MANY = '1000000000';

/**
 * As in production, except that limits are raised, because the whole load is one app from one address, and only errors are
 * logged, because no peer logs its requests.
 */
export const LOAD_SETTINGS = {
  SECRET_KEYS: SECRET_KEY,
  LOG_LEVEL: 'error',
  LIMIT_PER_APP: MANY,
  LIMIT_PER_GRANT: MANY,
  LIMIT_WRONG_SECRETS: MANY,
  LIMIT_PER_USER: MANY,
  LIMIT_CHANGES_PER_USER: MANY,
};
