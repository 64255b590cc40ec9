import type { Contender } from './contender.ts';
import { bare } from './contenders/bare.ts';
import { betterAuth, betterAuthOnPostgres } from './contenders/better-auth.ts';
import { gatehouseOnPostgres, gatehouseOnSqlite } from './contenders/gatehouse.ts';
import { jmondi } from './contenders/jmondi.ts';
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
