import { getPage, nextState, readCode, storeCookies } from '../browse.ts';
import { UnexpectedResponse, type Visitor } from '../contender.ts';
import { type HttpClient, type HttpRequest, type HttpResponse, headerOf, postForm } from '../http-client.ts';
import { REDIRECT_URI } from '../seed.ts';
import { PASSWORD, userAt } from './keycloak-realm.ts';
import { authorizeUrl } from './peer-requests.ts';

/** The sign-in form, the consent form, and the redirects between them. */
const MAX_STEPS = 8;

/** Signs a user in and allows the app, by the forms of Keycloak. Returns the code for the app. */
export async function signInByForms(
  client: HttpClient,
  visitor: Visitor,
  peer: Parameters<typeof authorizeUrl>[0],
): Promise<string> {
  const state = nextState();
  let request = getPage(visitor, authorizeUrl(peer, state));
  for (let step = 0; step < MAX_STEPS; step += 1) {
    const response = await client.ask(request);
    storeCookies(visitor, response);
    const location = headerOf(response, 'location');
    if (location?.startsWith(REDIRECT_URI)) return readCode(location, state, request, response);
    request = location ? getPage(visitor, new URL(location, peer.origin)) : fillIn(visitor, request, response);
  }
  throw new Error('Keycloak does not return to the app.');
}

/** Submits the form of a page: the sign-in form or the consent form. */
export function fillIn(visitor: Visitor, request: HttpRequest, response: HttpResponse): HttpRequest {
  const [, action] = /<form[^>]* action="([^"]+)"/.exec(response.body) ?? [];
  if (response.status !== 200 || action === undefined || /kc-feedback|alert-error/.test(response.body))
    throw new UnexpectedResponse('The page should be the form to sign in or to allow the app.', request, response);
  const fields = Object.fromEntries(
    [...response.body.matchAll(/<input[^>]* type="hidden"[^>]*>/g)].map(([input]) => [
      attributeOf(input, 'name'),
      attributeOf(input, 'value'),
    ]),
  );
  const inputs: Record<string, string> = /name="password"/.test(response.body)
    ? { username: userAt(visitor.index), password: PASSWORD }
    : { accept: 'Yes' };
  const { origin, pathname, search } = new URL(action.replaceAll('&amp;', '&'), request.origin);
  return postForm(origin, pathname + search, { ...fields, ...inputs }, { cookie: visitor.cookie });
}

function attributeOf(element: string, name: string): string {
  return new RegExp(` ${name}="([^"]*)"`).exec(element)?.[1] ?? '';
}
