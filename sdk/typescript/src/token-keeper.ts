import { requireTokens } from './arguments.ts';
import { GatehouseError } from './errors.ts';
import type { Tokens } from './tokens.ts';

/** Tokens that are refreshed automatically, and their persistent store. */
export interface KeptTokens {
  /** The initial pair. */
  tokens: Tokens;
  /** Stores a new pair in place of the old one. It is awaited before the new pair is used. */
  save: (tokens: Tokens) => unknown;
  /** Reads the stored pair, if several workers share one. Called before each refresh. */
  load?: (() => Tokens | undefined | Promise<Tokens | undefined>) | undefined;
}

export interface TokenKeeper {
  /** A valid access token, other than `refused`, which Gatehouse rejected. */
  accessToken(refused?: string): Promise<string>;
}

/** The state of a keeper. */
interface Keeping extends Omit<KeptTokens, 'tokens'> {
  refresh: (refreshToken: string) => Promise<Tokens>;
  held: Tokens;
  /** A newer pair, which may not be used before it is saved. */
  unsaved?: Tokens | undefined;
  /** Why the current refresh token was rejected for good. */
  refusal?: GatehouseError | undefined;
  /** The last refresh tokens that were spent here. */
  spent: string[];
}

const EARLY = 60_000;
const MOST_SPENT = 50;

export function keepTokens({ tokens, save, load }: KeptTokens, refresh: Keeping['refresh']): TokenKeeper {
  const keeping: Keeping = { save, load, refresh, held: tokens, spent: [] };
  let renewal: Promise<void> | undefined;
  return {
    async accessToken(refused) {
      if (keeping.unsaved || keeping.refusal || isDue(keeping, refused)) {
        // All waiting calls share one refresh and its outcome.
        renewal ??= renew(keeping, refused).finally(() => {
          renewal = undefined;
        });
        await renewal;
      }
      return keeping.held.accessToken;
    },
  };
}

function isDue({ held }: Keeping, refused: string | undefined): boolean {
  return held.accessToken === refused || held.expiresAt - Date.now() <= EARLY;
}

async function renew(keeping: Keeping, refused: string | undefined): Promise<void> {
  if (!keeping.unsaved) {
    await takeOver(keeping);
    if (keeping.refusal) throw keeping.refusal;
    if (!isDue(keeping, refused)) return;
    await trade(keeping);
  }
  await store(keeping);
}

/** The pair that another worker has stored meanwhile. A store that lags behind may still return a spent one. */
async function takeOver(keeping: Keeping): Promise<void> {
  const stored = await keeping.load?.();
  if (stored === undefined || stored === null) return;
  const found = requireTokens(stored, 'What load gives');
  if ([keeping.held.refreshToken, ...keeping.spent].includes(found.refreshToken)) return;
  keeping.held = found;
  keeping.refusal = undefined;
}

async function trade(keeping: Keeping): Promise<void> {
  const { refreshToken } = keeping.held;
  try {
    keeping.unsaved = await keeping.refresh(refreshToken);
    keeping.spent = [...keeping.spent, refreshToken].slice(-MOST_SPENT);
  } catch (error) {
    if (isFinal(error)) keeping.refusal = error;
    throw error;
  }
}

async function store(keeping: Keeping): Promise<void> {
  const newer = keeping.unsaved;
  if (!newer) return;
  await keeping.save({ ...newer });
  keeping.held = newer;
  keeping.unsaved = undefined;
}

/** The refresh token was rejected for good: another attempt would be rejected again. */
function isFinal(error: unknown): error is GatehouseError {
  if (!(error instanceof GatehouseError) || error.code === 'invalid_response') return false;
  return error.status === 400 && !UNDOABLE.includes(error.reason);
}

/** These can be undone, and then the same refresh token works again. */
const UNDOABLE = ['app_paused', 'app_disabled', 'app_closed', 'user_disabled'];
