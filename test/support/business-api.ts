import type { Business } from '../../src/accounts/businesses.ts';
import type { User } from '../../src/accounts/users.ts';
import { SCOPES } from './scopes.ts';
import type { TestServer } from './test-server.ts';

type Headers = Record<string, string>;

/** Adds a business, and sends requests to its API with a token that has all scopes. */
export async function connectBusiness(server: TestServer, name: string) {
  const business = await server.addBusiness(name);
  const user = await server.addUser(name.replaceAll(' ', ''), [[business, 'owner']]);
  return connectAs(server, user, business);
}

export async function connectAs(server: TestServer, user: User, business: Business, scopes: string[] = SCOPES) {
  const app = await server.addApp({ name: `${business.name} app`, ownerBusinessId: business.id, scopes });
  const credentials = { client_id: app.id, client_secret: app.secret };
  const code = await server.allow({ client_id: app.id, scope: scopes.join(' ') }, await server.signedIn(user));
  const { access_token: token } = (await server.exchange(code, credentials)).body;
  const bearer = { authorization: `Bearer ${token}`, 'x-business-id': business.id };
  return {
    business,
    app,
    user,
    token,
    bearer,
    get: (path: string, headers: Headers = {}) => server.get(path, { ...bearer, ...headers }),
    send: (method: 'POST' | 'PATCH', path: string, body?: unknown, headers: Headers = {}) =>
      server.sendJson(method, path, body, { ...bearer, ...headers }),
  };
}
