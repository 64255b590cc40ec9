import { createServer } from 'node:http';

/**
 * The pages that Hydra leaves to its operator, after https://www.ory.com/docs/oauth2-oidc/custom-login-consent/flow:
 * signs in the user who is named in the URL, and allows everything. Hydra remembers both, but still redirects here.
 */
const { PORT: port = '', ADMIN = '' } = process.env;

// Longer than it takes to measure the other servers.
createServer({ keepAliveTimeout: 600_000 }, async (request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '', `http://127.0.0.1:${port}`);
  const step = { '/login': acceptLogin, '/consent': acceptConsent }[pathname];
  if (!step) {
    response.writeHead(pathname === '/readyz' ? 200 : 404).end();
    return;
  }
  try {
    response.writeHead(302, { location: await step(searchParams), 'content-length': 0 }).end();
  } catch (error) {
    response.writeHead(502).end(String(error));
  }
}).listen(Number(port), '127.0.0.1');

async function acceptLogin(query: URLSearchParams): Promise<string> {
  const challenge = { login_challenge: query.get('login_challenge') ?? '' };
  const { skip, subject } = await callAdmin('GET', 'login', challenge);
  const user = skip ? subject : query.get('as');
  if (!user) throw new Error('No user is signed in, and the URL names none.');
  return redirectOf(await callAdmin('PUT', 'login/accept', challenge, { subject: user, remember: !skip }));
}

async function acceptConsent(query: URLSearchParams): Promise<string> {
  const challenge = { consent_challenge: query.get('consent_challenge') ?? '' };
  const { requested_scope, requested_access_token_audience } = await callAdmin('GET', 'consent', challenge);
  const allowed = { grant_scope: requested_scope, grant_access_token_audience: requested_access_token_audience };
  return redirectOf(await callAdmin('PUT', 'consent/accept', challenge, { ...allowed, remember: true }));
}

/** Throws an error with the response of Hydra if it rejects the request. */
async function callAdmin(method: string, path: string, query: Record<string, string>, body?: object) {
  const url = `${ADMIN}/admin/oauth2/auth/requests/${path}?${new URLSearchParams(query)}`;
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(url, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${path}: ${response.status} ${text}`);
  return JSON.parse(text);
}

function redirectOf({ redirect_to }: { redirect_to: string }): string {
  return redirect_to;
}
