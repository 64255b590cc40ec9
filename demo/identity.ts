import { changeIdentity, changeLogo } from '../src/apps/app-changes.ts';
import { verifyPublisher } from '../src/apps/verification.ts';
import { OPERATOR } from '../src/audit/entries.ts';
import type { Database } from '../src/storage/storage.ts';

const IDENTITY = {
  publisherName: 'Northgate Software Ltd',
  homepageUrl: 'https://ledgerly.example/',
  supportUrl: 'https://ledgerly.example/support',
  privacyUrl: 'https://ledgerly.example/privacy',
  termsUrl: 'https://ledgerly.example/terms',
};

/** An L on green, as PNG. */
const LOGO =
  'iVBORw0KGgoAAAANSUhEUgAAAGAAAABgBAMAAAAQtmoLAAAAMFBMVEUPdm4Pdm4Pdm4Pdm4Pdm4Pdm4Pdm4Pdm4Pdm4Pdm4Pdm4Pdm4Pdm4Pdm' +
  '7///9e6tRVNhnDAAAADXRSTlMAFCc7TmJ2iZ2xxNjri7wSJwAAAR9JREFUeNrtmL9Kw1AUxr8WpNIud3BswRdw7mrfwBfwEQqCU5GALyC4ORXc' +
  'Okigc9HByUE6KNikMecV8gpK/hgSKPF8keJyfvP34164CZzvADlHs0dp4PVugiqdK/mVhavkPVEQOC5fMQ5FyXVxgK8VovyIvqi5z4QbvRCm+Q' +
  'MhOAMwYoQ37kYiAdAVCqd/hJ+nGHDCEiec8I4pJ2ww54QtfE6I8MQJn+DyErOC/FVIMkwwwYS68FViwn8K9i3ZO5iQ7MAEE9oI+5gq1+ygS4/S' +
  '9LBO1wG6cNCVhi5NPU644IsfPCYfABgywjNbj0/TQu1xN6Iq/m2+RFB/f7Frt6YAznX5j3LV0lXV/PC4spxRGC+utv8ZPzT+q/Hqsgh+A/5rJb' +
  'KzLfNWAAAAAElFTkSuQmCC';

/** What the consent screen of the demo shows about its third-party app. */
export async function addDemoIdentity(db: Database, appId: string, now: number): Promise<void> {
  await changeIdentity(OPERATOR, db, { appId, change: () => IDENTITY }, now);
  await changeLogo(OPERATOR, db, { appId, file: Buffer.from(LOGO, 'base64') }, now);
  await verifyPublisher(OPERATOR, db, { appId }, now);
}
