import pg from 'pg';
import { SECOND } from '../../lib/clock.ts';
import { StorageUnavailable } from '../storage.ts';

const POLL_INTERVAL = SECOND;

/** Services with one address do not all have functions about the write-ahead log. */
const STANDBY_QUERY = 'select pg_is_in_recovery() as standby';
/** Each promotion of a standby begins a timeline, whose number begins the names of files of the write-ahead log. */
const TIMELINE_QUERY = `${STANDBY_QUERY},
  case when not pg_is_in_recovery() then pg_walfile_name(pg_current_wal_lsn()) end as file`;

export type Primary = ReturnType<typeof trackPrimary>;

/**
 * Distinguishes the primary from standbys and from former primaries. A former primary may still accept connections if
 * it was frozen, or if its cluster manager was killed. It does not know what was revoked since.
 */
export function trackPrimary(servers: pg.ClientConfig[]) {
  const timelines = new WeakMap<pg.ClientBase, number>();
  const isOne = servers.length === 1;
  let newest = 0;
  let stop = async () => {};
  return {
    /** For new connections. A standby may lag behind, and would accept tokens that were revoked. */
    async assertPrimary(client: pg.ClientBase): Promise<void> {
      const { rows } = await client.query(isOne ? STANDBY_QUERY : TIMELINE_QUERY);
      const [{ standby, file }] = rows;
      if (standby) throw new StorageUnavailable('this server is a standby');
      const timeline = timelineOf(file);
      if (timeline < newest) throw new StorageUnavailable('this server was the primary, and has been replaced');
      newest = timeline;
      timelines.set(client, timeline);
    },
    isReplaced: (client: pg.ClientBase): boolean => (timelines.get(client) ?? newest) < newest,
    /**
     * With several servers, each is queried every second: otherwise a node that only reads would not notice a failover.
     */
    watch(): void {
      if (isOne) return;
      stop = watchServers(servers, (timeline) => {
        newest = Math.max(newest, timeline);
      });
    },
    close: () => stop(),
  };
}

function watchServers(servers: pg.ClientConfig[], onTimeline: (timeline: number) => void): () => Promise<void> {
  const options = { max: 1, idleTimeoutMillis: 0, allowExitOnIdle: true };
  const pools = servers.map((server) => new pg.Pool({ ...server, ...options }).on('error', () => {}));
  async function poll(pool: pg.Pool): Promise<void> {
    const isWaiting = pool.totalCount > pool.idleCount;
    if (isWaiting) return;
    // A server that does not respond does not count as the primary.
    const result = await pool.query(TIMELINE_QUERY).catch(() => undefined);
    onTimeline(timelineOf(result?.rows[0].file));
  }
  const timer = setInterval(() => pools.forEach((pool) => void poll(pool)), POLL_INTERVAL).unref();
  return async () => {
    clearInterval(timer);
    await Promise.all(pools.map((pool) => pool.end()));
  };
}

/** 0 if it is unknown. */
function timelineOf(file: string | null | undefined): number {
  return Number.parseInt(file?.slice(0, 8) ?? '0', 16);
}
