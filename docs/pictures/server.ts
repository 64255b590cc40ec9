import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DEMO_USERS, ensureDemoApps, ensureDemoData } from '../../demo/data.ts';
import { readSettings, type Settings } from '../../src/config/settings.ts';
import { createKeyring, type Keyring } from '../../src/lib/keyring.ts';
import { startServer } from '../../src/server.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { addDecisions, addReceiver, businessOf, findFailedRequest, findParcelwise, requireUser } from './data.ts';
import { listPictures, type Picture } from './pages.ts';

export interface PictureServer {
  settings: Settings;
  keys: Keyring;
  storage: Storage;
  thirdParty: { clientId: string; clientSecret: string };
  /** The pages that it can show. */
  pictures: Picture[];
  close(): Promise<void>;
}

/** A server with the data of the demo, and with more for pages that would be empty. */
export async function startPictureServer(): Promise<PictureServer> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-pictures-'));
  const settings = readSettings({
    BASE_URL: 'http://localhost:4700',
    CONSENT_URL: 'http://localhost:4701',
    DATABASE_URL: `sqlite:${join(folder, 'gatehouse.db')}`,
    SECRET_KEYS: 'only-for-pictures-and-for-nothing-else-at-all',
    LOG_LEVEL: 'silent',
    WEBHOOKS_TO_LOOPBACK: 'yes',
    DYNAMIC_REGISTRATION: 'on',
  });
  const keys = createKeyring(settings.secretKeys);
  const { storage, close } = await startServer(settings);
  const northgate = await ensureDemoData(storage, Date.now());
  const { thirdParty } = await ensureDemoApps(storage, northgate, join(folder, 'apps.json'), Date.now());
  const receiver = createServer((_, response) => response.writeHead(204).end()).listen(4703, '127.0.0.1');
  const known = { settings, keys, storage, thirdParty };
  return {
    ...known,
    pictures: await addData({ ...known, northgate }),
    async close() {
      receiver.close();
      await close();
      rmSync(folder, { recursive: true });
    },
  };
}

type Known = Pick<PictureServer, 'settings' | 'keys' | 'storage' | 'thirdParty'> & { northgate: string };

async function addData({ settings, keys, storage, thirdParty, northgate }: Known): Promise<Picture[]> {
  const now = Date.now();
  return storage.transaction(async (db) => {
    const parcelwise = await findParcelwise(db, northgate);
    const owner = await requireUser(db, DEMO_USERS.owner.email);
    const member = await requireUser(db, DEMO_USERS.member.email);
    const businessId = await businessOf(db, owner);
    await addDecisions(db, { user: owner, member, businessId }, thirdParty.clientId, now);
    return listPictures({
      api: settings.baseUrl,
      web: settings.consentUrl,
      ledgerly: thirdParty.clientId,
      parcelwise,
      request: await findFailedRequest(db, parcelwise),
      ...(await addReceiver(db, keys, parcelwise, now)),
      northgate,
      owner: owner.id,
      member: member.id,
    });
  });
}
