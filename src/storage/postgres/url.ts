import { withoutBrackets } from '../../lib/ip-addresses.ts';
import { StorageError } from '../storage.ts';

/** Several hosts are a primary and its standbys, in any order. */
export interface PostgresTarget {
  hosts: { host: string; port: number }[];
  user: string;
  password: string | undefined;
  database: string;
  /** Connections of each durability class. */
  poolSize: number;
  /** In seconds, also for a free connection of the pool. */
  connectTimeout: number;
  ssl: { rejectUnauthorized: boolean } | false;
  /** A pooler in transaction mode keeps no session: settings, and mostly named statements, are lost after each transaction. */
  pooler: 'none' | 'transaction';
  namesStatements: boolean;
}

/** What one node opens at most: two pools, and one pipeline each for reads and writes. Of several servers, each is watched as well. */
export const maxConnections = ({ poolSize, hosts }: PostgresTarget): number =>
  2 * poolSize + (hosts.length > 1 ? 3 : 2);

/** `URL.parse` accepts one host only, so the list is split off first. */
const MULTI_HOST_URL = /^(postgres(?:ql)?:\/\/(?:[^@/?]*@)?)([^@/?]+)(\/[^?]*(?:\?.*)?)?$/;
const PARAMETERS = ['sslmode', 'pool_size', 'connect_timeout', 'pooler', 'prepared_statements'];
const SSL_MODES = ['disable', 'require', 'verify-full'];
const POOLERS = ['none', 'transaction'] as const;
const SWITCHES = ['on', 'off'] as const;

export function readPostgresUrl(text: string): PostgresTarget {
  const [, before = '', hosts = '', after = ''] = MULTI_HOST_URL.exec(text) ?? [];
  const url = URL.parse(`${before}host${after}`);
  const [database = '', user = '', password = ''] = decode([url?.pathname.slice(1), url?.username, url?.password]);
  if (!url || hosts === '' || database === '') {
    throw new StorageError('DATABASE_URL must look like postgres://user:password@host:5432/database.');
  }
  const { searchParams } = url;
  const unknown = [...searchParams.keys()].find((name) => !PARAMETERS.includes(name));
  if (unknown) throw new StorageError(`DATABASE_URL has a parameter other than ${PARAMETERS.join(', ')}: ${unknown}.`);
  const choose = <Value extends string>(name: string, values: readonly Value[], usual: Value): Value => {
    const chosen = values.find((value) => value === (searchParams.get(name) ?? usual));
    if (!chosen) throw new StorageError(`DATABASE_URL: ${name} must be ${values.join(' or ')}.`);
    return chosen;
  };
  const sslMode = choose('sslmode', SSL_MODES, 'disable');
  const pooler = choose('pooler', POOLERS, 'none');
  const prepared = choose('prepared_statements', SWITCHES, pooler === 'none' ? 'on' : 'off');
  return {
    hosts: hosts.split(',').map(readHost),
    user,
    password: password || undefined,
    database,
    poolSize: readNumber(searchParams, { name: 'pool_size', usual: 10, most: 1000 }),
    connectTimeout: readNumber(searchParams, { name: 'connect_timeout', usual: 2, most: 60 }),
    ssl: sslMode === 'disable' ? false : { rejectUnauthorized: sslMode === 'verify-full' },
    pooler,
    namesStatements: prepared === 'on',
  };
}

function decode(parts: (string | undefined)[]): string[] {
  try {
    return parts.map((part) => decodeURIComponent(part ?? ''));
  } catch {
    throw new StorageError('DATABASE_URL has a % that is not an escape sequence. In a password, write %25 for it.');
  }
}

function readHost(text: string): { host: string; port: number } {
  const [, host = '', port = '5432'] = /^(.+?)(?::(\d{1,5}))?$/.exec(text) ?? [];
  if (host === '' || Number(port) > 65535) throw new StorageError(`DATABASE_URL has an invalid host: ${text}.`);
  return { host: withoutBrackets(host), port: Number(port) };
}

function readNumber(
  parameters: URLSearchParams,
  { name, usual, most }: { name: string; usual: number; most: number },
): number {
  const value = Number(parameters.get(name) ?? usual);
  if (Number.isInteger(value) && value >= 1 && value <= most) return value;
  throw new StorageError(`DATABASE_URL has a ${name} that is not a number from 1 to ${most}.`);
}
