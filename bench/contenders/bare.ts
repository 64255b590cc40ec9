import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../test/support/ports.ts';
import type { Contender } from '../contender.ts';
import { startChild } from '../process.ts';
import { SECRET_KEY, seed } from '../seed.ts';
import { gatehouseRequests } from './gatehouse-requests.ts';

const MAIN = fileURLToPath(new URL('../peers/bare.ts', import.meta.url));

export const bare: Contender = {
  name: 'bare',
  title: 'Bare server (the limit)',
  needsBothCores: false,
  isPeer: false,
  async start({ folder, users }) {
    const file = join(folder, 'bare.db');
    const seeded = await seed(`sqlite:${file}`, users);
    const port = await freePort();
    const origin = `http://127.0.0.1:${port}`;
    const settings = { BARE_FILE: file, BARE_PORT: String(port), BARE_KEY: SECRET_KEY };
    const { pid, stop } = await startChild([MAIN], settings, `${origin}/readyz`);
    return { pid, stop, ...gatehouseRequests(seeded, [origin]) };
  },
};
