import { callScenario } from './call.ts';
import { exchangeScenario } from './exchange.ts';
import { flowScenario } from './flow.ts';
import { introspectScenario } from './introspect.ts';
import { refreshScenario } from './refresh.ts';
import { revokeScenario } from './revoke.ts';
import type { Scenario } from './scenario.ts';

export const SCENARIOS: Scenario[] = [
  exchangeScenario,
  refreshScenario,
  callScenario,
  introspectScenario,
  revokeScenario,
  flowScenario,
];
