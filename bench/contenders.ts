import type { Contender } from './contender.ts';
import { bare } from './contenders/bare.ts';
import { betterAuth, betterAuthOnPostgres } from './contenders/better-auth.ts';
import { gatehouseOnPostgres, gatehouseOnSqlite } from './contenders/gatehouse.ts';
import { hydraAt } from './contenders/hydra.ts';
import { jmondi } from './contenders/jmondi.ts';
import { keycloakIn } from './contenders/keycloak.ts';
import { oidcProvider, oidcProviderOnPostgres } from './contenders/oidc-provider.ts';

export const CONTENDERS: Contender[] = [
  gatehouseOnSqlite,
  gatehouseOnPostgres,
  oidcProviderOnPostgres,
  betterAuthOnPostgres,
  betterAuth,
  oidcProvider,
  jmondi,
  bare,
];

/** The paths to programs that npm does not install. */
export interface Installed {
  hydra?: string | undefined;
  keycloak?: string | undefined;
}

/** Contenders that take part only where a path to them is given. */
export const INSTALLED = [
  { option: 'hydra', find: hydraAt, expected: 'the program of Ory Hydra, whose `version` prints its version' },
  {
    option: 'keycloak',
    find: keycloakIn,
    expected: 'the folder of an unpacked Keycloak, with bin/kc.sh and version.txt',
  },
] as const;
