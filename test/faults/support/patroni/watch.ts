import { randomInt } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { grantIdIn } from '../../../support/rows.ts';
import { createApiClient } from '../api-client.ts';
import type { Journal } from '../journal.ts';

const RECENT = 30;
const PAUSE = 50;

/** Presents recently revoked tokens until it is stopped: a replaced primary would still accept them. Returns how often. */
export function watchRevoked(journal: Journal, apis: string[]): () => Promise<number> {
  let isOver = false;
  let rejected = 0;
  const watch = async (api: string) => {
    const apiClient = createApiClient(() => api);
    for (; !isOver; await setTimeout(PAUSE)) {
      const ended = journal.histories.filter(({ endedBy, pairs }) => endedBy && pairs.length > 0).slice(-RECENT);
      const history = ended[randomInt(Math.max(1, ended.length))];
      const [pair] = history?.pairs.slice(-1) ?? [];
      if (!history || !pair) continue;
      const response = await apiClient.use(pair.access_token);
      if (response?.status === 401) rejected += 1;
      if (response?.status === 200) journal.wrong.push(`a revoked token worked at ${api}: ${grantIdIn(history.code)}`);
    }
  };
  const watching = Promise.all(apis.map(watch));
  return async () => {
    isOver = true;
    await watching;
    return rejected;
  };
}
