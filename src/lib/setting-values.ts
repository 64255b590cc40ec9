import { isLoopbackHost } from './ip-addresses.ts';

export interface Address {
  host: string;
  port: number;
}

/** The message names the setting to change. */
export class InvalidSetting extends Error {}

export type Environment = Record<string, string | undefined>;

export function readOrigin(env: Environment, name: string, fallback: string): string {
  const text = env[name] || fallback;
  const url = URL.parse(text);
  if (!url || !['http:', 'https:'].includes(url.protocol) || (url.origin !== text && `${url.origin}/` !== text)) {
    throw new InvalidSetting(`${name} must be an origin like https://auth.example.com, with no path; it is ${text}.`);
  }
  if (url.protocol === 'http:' && !isLoopbackHost(url.hostname)) {
    throw new InvalidSetting(`${name} must start with https:// unless its host is localhost; it is ${text}.`);
  }
  return url.origin;
}

/** Behind a public URL there is a proxy, so the default is loopback on a port of its own. */
export function readAddress(env: Environment, name: string, publicUrl: string, defaultPort: number): Address {
  const text = env[name];
  const { hostname, port, protocol } = new URL(publicUrl);
  if (!text) {
    const local = isLoopbackHost(hostname) && protocol === 'http:';
    return { host: local ? withoutBrackets(hostname) : '127.0.0.1', port: local ? Number(port || 80) : defaultPort };
  }
  const [, host = '', digits = ''] = /^(?:(.+):)?(\d{1,5})$/.exec(text) ?? [];
  if (digits === '' || Number(digits) > 65535) {
    throw new InvalidSetting(`${name} must be host:port, like 127.0.0.1:4000; it is ${text}.`);
  }
  return { host: withoutBrackets(host) || '127.0.0.1', port: Number(digits) };
}

export function readNumber(
  env: Environment,
  name: string,
  fallback: number,
  { min, max }: { min: number; max: number },
) {
  const text = env[name];
  if (!text) return fallback;
  const number = Number(text);
  if (!/^\d+$/.test(text) || number < min || number > max) {
    throw new InvalidSetting(`${name} must be a whole number from ${min} to ${max}; it is ${text}.`);
  }
  return number;
}

export function readOneOf(env: Environment, name: string, fallback: string, values: readonly string[]): string {
  const text = env[name] || fallback;
  if (!values.includes(text)) throw new InvalidSetting(`${name} must be one of ${values.join(', ')}; it is ${text}.`);
  return text;
}

function withoutBrackets(host: string): string {
  return host.replace(/^\[|\]$/g, '');
}

export function isPublic(url: string): boolean {
  return !isLoopbackHost(new URL(url).hostname);
}
