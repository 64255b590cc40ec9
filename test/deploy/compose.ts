import { parse } from 'yaml';
import { readText } from './files.ts';

export interface Service {
  image?: string;
  user?: string;
  command?: string[];
  environment?: Record<string, string>;
  secrets?: string[];
  healthcheck?: { test?: string[] };
  depends_on?: Record<string, { condition: string }>;
  networks?: Record<string, { ipv4_address?: string }>;
  ports?: string[];
  read_only?: boolean;
  cap_drop?: string[];
  security_opt?: string[];
  stop_grace_period?: string;
}

interface Compose {
  services: Record<string, Service>;
  networks: Record<string, { internal?: boolean; ipam?: { config: { subnet: string }[] } }>;
  secrets: Record<string, { file: string }>;
}

/** The Compose file with these variables. */
export function readCompose(variables: Record<string, string>): Compose {
  return parse(interpolateCompose(variables), { merge: true });
}

export function interpolateCompose(variables: Record<string, string>): string {
  return readText('deploy/compose.yaml').replace(
    /\$\{(\w+)(?::?([-?])([^}]*))?\}/g,
    (_, name: string, operator?: string, fallback = '') => {
      const value = variables[name] ?? (operator === '-' ? fallback : undefined);
      if (value === undefined) throw new Error(`${name} is not set: ${fallback}`);
      return value;
    },
  );
}
