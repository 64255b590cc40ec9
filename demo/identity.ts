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

/** An L on green, as WebP. */
const LOGO =
  'UklGRjICAABXRUJQVlA4TCUCAAAvX8AXECfiqJEkR8rsNW/PdAEs2qXg74qGokaSouL6Yg2NKG1XkWQ71QzpGx/4QgdqsZBeGAZtIznOnWe+dw' +
  'IfwO7o4TRYt9OlvdNUDel72ZDXx9ui79dqnD5fdcbl56cZPv/+beb4/6vW8Z9ORfH/yNMss4AEIaOEwCSawrQoZqON4aIQawaHRAQkwmCFUSWn' +
  'iJTRJkWI2cEegAWxBKQIiMNubx/r3wYkSJJt2pZt27btWqvnP6Zr9fP/ERH9Z+C2kaKo1THzdV4gSZIkSVLvxNLe2T0AAAAAAAAAAAAAAAAAwP' +
  '3Z7tJEtyRJkqRafQbmzwEAAFo36encQJ1tK08AHi1PywN1tzm19NRwxzqAV8t6R1V3H4OfjqudYO0n4Kij9ko2wFMbFZ4BV82Uue+5OmbL6a/o' +
  '56tVScPvBbwb21CS8SRX3lxpFLw1OuvO7I47OwfuHFwXMB/xxZ0WPuMBAAAAAAAAAAAAAAAAAAAAAMB9p2ZmZmZmZv4/QERERERERERERMTvJ9' +
  '//+97P97r7HSczMzMzMzMzs/o2//vAR/83af/j1d5X9v+l/f+r++cC/rmGfy7jnytp1ZsFaejZ2c+9khasm6Xcs8v41vHQWRbcTvoyUQqeS71s' +
  '+1Xm5m2Hnt5vq1YucuPo2y7zuojNjlqFHdNm8fb7VB11KSObrz5tb1sj9VW+DK6Z3EIelwcbKN0ZXzm+uHtu4W3o7vJ4cazGlggA';

/** What the consent screen of the demo shows about its third-party app. */
export async function addDemoIdentity(db: Database, appId: string, now: number): Promise<void> {
  await changeIdentity(OPERATOR, db, { appId, change: () => IDENTITY }, now);
  await changeLogo(OPERATOR, db, { appId, file: Buffer.from(LOGO, 'base64') }, now);
  await verifyPublisher(OPERATOR, db, { appId }, now);
}
