import { OAuthError } from './errors.ts';

/** An empty field counts as absent. */
export function withoutEmpty<Fields extends object>(fields: Fields): Partial<Fields> {
  if (!Object.values(fields).includes('')) return fields;
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== '')) as Partial<Fields>;
}

export function requireField<Name extends string>(fields: { [key in Name]?: string }, name: Name): string {
  const value = fields[name];
  if (value === undefined) throw new OAuthError('invalid_request', 'field_missing', `${name} is missing.`);
  return value;
}
