import { isLoopbackHost } from './ip-addresses.ts';

export interface Address {
  host: string;
  port: number;
}

/** Its sentence names the setting to change. */
export class SettingRefused extends Error {}

export type Environment = Record<string, string | undefined>;

export function readOrigin(env: Environment, name: string, usual: string): string {
  const text = env[name] || usual;
  const url = URL.parse(text);
  if (!url || !['http:', 'https:'].includes(url.protocol) || (url.origin !== text && `${url.origin}/` !== text)) {
    throw new SettingRefused(`${name} must be an origin like https://auth.example.com, with no path; it is ${text}.`);
  }
  if (url.protocol === 'http:' && !isLoopbackHost(url.hostname)) {
    throw new SettingRefused(`${name} must start with https:// unless its host is localhost; it is ${text}.`);
  }
  return url.origin;
}

/** Where the address is public, a proxy stands in front: then this listens on loopback, on a port of its own. */
export function readAddress(env: Environment, name: string, publicUrl: string, usualPort: number): Address {
  const text = env[name];
  const { hostname, port, protocol } = new URL(publicUrl);
  if (!text) {
    const local = isLoopbackHost(hostname) && protocol === 'http:';
    return { host: local ? bare(hostname) : '127.0.0.1', port: local ? Number(port || 80) : usualPort };
  }
  const [, host = '', digits = ''] = /^(?:(.+):)?(\d{1,5})$/.exec(text) ?? [];
  if (digits === '' || Number(digits) > 65535) {
    throw new SettingRefused(`${name} must be host:port, like 127.0.0.1:4000; it is ${text}.`);
  }
  return { host: bare(host) || '127.0.0.1', port: Number(digits) };
}

export function readNumber(
  env: Environment,
  name: string,
  usual: number,
  { least, most }: { least: number; most: number },
) {
  const text = env[name];
  if (!text) return usual;
  const number = Number(text);
  if (!/^\d+$/.test(text) || number < least || number > most) {
    throw new SettingRefused(`${name} must be a whole number from ${least} to ${most}; it is ${text}.`);
  }
  return number;
}

export function readOneOf(env: Environment, name: string, usual: string, values: readonly string[]): string {
  const text = env[name] || usual;
  if (!values.includes(text)) throw new SettingRefused(`${name} must be one of ${values.join(', ')}; it is ${text}.`);
  return text;
}

function bare(host: string): string {
  return host.replace(/^\[|\]$/g, '');
}

export function isPublic(url: string): boolean {
  return !isLoopbackHost(new URL(url).hostname);
}
