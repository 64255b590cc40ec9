import { openStorage } from '../../src/storage/open.ts';
import { spreadHappenings } from '../../src/webhooks/spreading.ts';

/** Spreads happenings, as a node does, until it is killed: `node spreading-process.ts URL`. Prints a line for each transaction. */
const storage = await openStorage(process.argv[2] ?? '');
for (;;) await spreadHappenings({ storage, clock: Date.now, batchSize: 20 }, () => console.log('spread'));
