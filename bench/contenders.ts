import type { Contender } from './contender.ts';
import { bare } from './contenders/bare.ts';
import { betterAuth } from './contenders/better-auth.ts';
import { gatehouseOnPostgres, gatehouseOnSqlite } from './contenders/gatehouse.ts';
import { jmondi } from './contenders/jmondi.ts';
import { oidcProvider } from './contenders/oidc-provider.ts';

export const CONTENDERS: Contender[] = [gatehouseOnSqlite, gatehouseOnPostgres, oidcProvider, jmondi, betterAuth, bare];
