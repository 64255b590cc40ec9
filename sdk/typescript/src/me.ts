import { type ApiResponse, fieldsOf, invalidResponse } from './requests.ts';
import { isTime } from './times.ts';

/** The user, business, app and scopes of an access token. */
export interface Me {
  /** Match it to your accounts by id, never by an unverified email address. */
  user: { id: string; name: string; email: string; emailVerified: boolean };
  business: { id: string; name: string };
  app: { id: string; name: string };
  scopes: string[];
  /** `business` if the connection outlives the membership of the user: then key it by the id of the business. */
  connectedFor: 'user' | 'business';
  /** When the user allowed the app, or took the connection over: ISO 8601, in UTC. */
  grantedAt: string;
}

export function readMe(response: ApiResponse): Me {
  const { user, business, app, scopes, grantedAt } = fieldsOf(response.json);
  const isValid =
    hasTexts(user, ['id', 'name', 'email']) && [business, app].every((of) => hasTexts(of, ['id', 'name']));
  const areScopes = Array.isArray(scopes) && scopes.every((scope) => typeof scope === 'string');
  const isVerified = typeof fieldsOf(user).emailVerified === 'boolean';
  if (!isValid || !isVerified || !areScopes || !isTime(grantedAt)) throw invalidResponse(response);
  return response.json as Me;
}

function hasTexts(value: unknown, names: string[]): boolean {
  return names.every((name) => typeof fieldsOf(value)[name] === 'string');
}
