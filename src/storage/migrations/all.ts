import { initial } from './001-initial.ts';
import { nodes } from './002-nodes.ts';
import { deliveryLog } from './003-delivery-log.ts';
import { happenings } from './004-happenings.ts';
import { stops } from './005-stops.ts';
import { rejectedAuthorizations } from './006-rejected-authorizations.ts';
import { signingKeys } from './007-signing-keys.ts';
import { revokedTokens } from './008-revoked-tokens.ts';
import { firstUsers } from './009-first-users.ts';
import { externalConsents } from './010-external-consents.ts';
import { connectionLimit } from './011-connection-limit.ts';
import { handovers } from './012-handovers.ts';
import { businessConnections } from './013-business-connections.ts';
import type { Migration } from './migration.ts';

/** In order, forwards only. A migration that has been released is never edited. */
export const MIGRATIONS: Migration[] = [
  {
    name: '001-initial',
    phase: 'initial',
    steps: [{ kind: 'change', title: 'create all tables', table: undefined, change: initial }],
  },
  {
    name: '002-nodes',
    phase: 'expand',
    steps: [{ kind: 'change', title: 'create the table nodes', table: undefined, change: nodes }],
  },
  deliveryLog,
  happenings,
  stops,
  rejectedAuthorizations,
  signingKeys,
  revokedTokens,
  firstUsers,
  externalConsents,
  connectionLimit,
  handovers,
  businessConnections,
];
