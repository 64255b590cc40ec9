import { readFileSync } from 'node:fs';
import { InvalidSetting } from '../lib/errors.ts';
import { type Address, isLoopbackHost, withoutBrackets } from '../lib/ip-addresses.ts';

export type Environment = Record<string, string | undefined>;

export function readOrigin(env: Environment, name: string, fallback: string): string {
  return parseOrigin(name, env[name] || fallback);
}

/** A list, separated by commas; empty if the variable is not set. */
export function readOrigins(env: Environment, name: string): string[] {
  const texts = (env[name] ?? '').split(',').map((text) => text.trim());
  return texts.filter((text) => text !== '').map((text) => parseOrigin(name, text));
}

function parseOrigin(name: string, text: string): string {
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

/** A setting that contains a password. Containers and systemd mount it as a file, which NAME_FILE names. */
export function readTextOrFile(env: Environment, name: string): string | undefined {
  const [text, file] = [env[name], env[`${name}_FILE`]];
  if (!file) return text;
  if (text) throw new InvalidSetting(`${name}_FILE and ${name} are both set. Keep one of them.`);
  const content = readSettingFile(`${name}_FILE`, file).trim();
  if (content === '') throw new InvalidSetting(`${name}_FILE names ${file}, which is empty.`);
  return content;
}

export function readSettingFile(setting: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? error.code : error;
    throw new InvalidSetting(`${setting} names ${file}, which cannot be read: ${reason}.`);
  }
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

/** Separated by commas. */
export function readList(env: Environment, name: string, what: string, isValid: (text: string) => boolean): string[] {
  const texts = (env[name] ?? '').split(',').map((text) => text.trim());
  const given = texts.filter((text) => text !== '');
  if (!given.every(isValid)) {
    throw new InvalidSetting(`${name} must be ${what}, separated by commas; it is ${env[name]}.`);
  }
  return given;
}

export function isPublic(url: string): boolean {
  return !isLoopbackHost(new URL(url).hostname);
}
