import { requireTokens } from './arguments.ts';
import { GatehouseError } from './errors.ts';
import { timeUntil } from './times.ts';
import type { StoredTokens, Tokens } from './tokens.ts';

/** Tokens that are refreshed automatically, and their persistent store. */
export interface KeptTokens {
  /** The initial pair. */
  tokens: StoredTokens;
  /** Stores a new pair in place of the old one. It is awaited before the new pair is used. */
  save: (tokens: Tokens) => unknown;
  /** Reads the stored pair, if several workers share one. Called before each refresh. */
  load?: (() => StoredTokens | undefined | Promise<StoredTokens | undefined>) | undefined;
}

export interface TokenRefresher {
  /** A valid access token, other than the `rejected` one. */
  accessToken(rejected?: string): Promise<string>;
}

/** The state of a refresher. */
interface RefresherState extends Omit<KeptTokens, 'tokens'> {
  refresh: (refreshToken: string) => Promise<Tokens>;
  current: Tokens;
  /** A newer pair, which may not be used before it is saved. */
  unsaved?: Tokens | undefined;
  /** Why the current refresh token was rejected permanently. */
  rejection?: GatehouseError | undefined;
  /** The last refresh tokens that were spent here. */
  spent: string[];
}

const EXPIRY_MARGIN = 60_000;
const MAX_SPENT = 50;

export function createTokenRefresher(
  { tokens, save, load }: KeptTokens & { tokens: Tokens },
  refresh: RefresherState['refresh'],
): TokenRefresher {
  const state: RefresherState = { save, load, refresh, current: tokens, spent: [] };
  let renewal: Promise<void> | undefined;
  return {
    async accessToken(rejected) {
      if (state.unsaved || state.rejection || isDue(state, rejected)) {
        // All waiting calls share one refresh and its outcome.
        renewal ??= renew(state, rejected).finally(() => {
          renewal = undefined;
        });
        await renewal;
      }
      return state.current.accessToken;
    },
  };
}

function isDue({ current }: RefresherState, rejected: string | undefined): boolean {
  return current.accessToken === rejected || timeUntil(current.expiresAt) <= EXPIRY_MARGIN;
}

async function renew(state: RefresherState, rejected: string | undefined): Promise<void> {
  if (!state.unsaved) {
    await loadStored(state);
    if (state.rejection) throw state.rejection;
    if (!isDue(state, rejected)) return;
    await refreshPair(state);
  }
  await store(state);
}

/** The pair that another worker has stored meanwhile. A store that lags behind may still return a spent one. */
async function loadStored(state: RefresherState): Promise<void> {
  const stored = await state.load?.();
  if (stored === undefined || stored === null) return;
  const loaded = requireTokens(stored, 'The result of load');
  if ([state.current.refreshToken, ...state.spent].includes(loaded.refreshToken)) return;
  state.current = loaded;
  state.rejection = undefined;
}

async function refreshPair(state: RefresherState): Promise<void> {
  const { refreshToken } = state.current;
  try {
    state.unsaved = await state.refresh(refreshToken);
    state.spent = [...state.spent, refreshToken].slice(-MAX_SPENT);
  } catch (error) {
    if (isFinal(error)) state.rejection = error;
    throw error;
  }
}

async function store(state: RefresherState): Promise<void> {
  const newer = state.unsaved;
  if (!newer) return;
  await state.save({ ...newer });
  state.current = newer;
  state.unsaved = undefined;
}

/** The refresh token was rejected permanently: another attempt would be rejected again. */
function isFinal(error: unknown): error is GatehouseError {
  if (!(error instanceof GatehouseError) || error.code === 'invalid_response') return false;
  return error.status === 400 && !TEMPORARY_REASONS.includes(error.reason);
}

/** These states can be undone, and then the same refresh token works again. */
const TEMPORARY_REASONS = ['app_paused', 'app_disabled', 'app_closed', 'user_disabled'];
