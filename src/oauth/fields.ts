import { OAuthError } from './errors.ts';

/** The fields of a request body, by their names on the wire. An empty field counts as absent. */
export type Fields = Partial<Record<string, string>>;

export function withoutEmpty(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== ''));
}

export function requireField(fields: Fields, name: string): string {
  const value = fields[name];
  if (value === undefined) throw new OAuthError('invalid_request', `${name} is missing.`);
  return value;
}
