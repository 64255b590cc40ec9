import { once } from 'node:events';
import { after } from 'node:test';
import express, { type ErrorRequestHandler, type Request, type RequestHandler } from 'express';
import session from 'express-session';
import passport from 'passport';
import { type Account, GatehouseStrategy, type Registration } from './gatehouse-strategy.ts';

interface Parts extends Omit<Registration, 'callbackURL'> {
  port: number;
}

export interface ExpressApp {
  clientID: string;
  origin: string;
  /** The errors that Passport passed to the app's error handler. */
  errors: Error[];
  accounts: Map<string, Account>;
}

/** A typical Express app: users sign in with Gatehouse, and its one page lists invoices. */
export async function startExpressApp({ port, ...registration }: Parts): Promise<ExpressApp> {
  const origin = `http://127.0.0.1:${port}`;
  const [accounts, errors] = [new Map<string, Account>(), [] as Error[]];
  const callbackURL = `${origin}/callback`;
  const strategy = new GatehouseStrategy({ ...registration, callbackURL }, (account) =>
    accounts.set(account.id, account),
  );
  const app = express();
  mountSignIn(app, strategy, accounts);
  app.get('/', async (request, response) => {
    const account = request.user as Account | undefined;
    if (!account) return response.redirect('/login');
    const invoices = await listInvoices(registration.api, account, strategy);
    return response.send(`${account.business.name}: ${invoices.join(', ')}`);
  });
  // Express recognises an error handler by its four parameters.
  const sendError: ErrorRequestHandler = (error, _request, response, _next) => {
    errors.push(error);
    response.status(error.status ?? 500).send(error.message);
  };
  app.use(sendError);
  const server = app.listen(port, '127.0.0.1');
  await once(server, 'listening');
  after(() => {
    server.close();
    server.closeAllConnections();
  });
  return { clientID: registration.clientID, origin, errors, accounts };
}

function mountSignIn(app: express.Express, strategy: GatehouseStrategy, accounts: Map<string, Account>): void {
  const own = new passport.Passport();
  own.use(strategy);
  own.serializeUser((user, done) => done(null, (user as Account).id));
  own.deserializeUser((id: string, done) => done(null, accounts.get(id) ?? false));
  const outcome = { successRedirect: '/', failureRedirect: '/refused', failureMessage: true };
  app.use(session({ secret: 'a secret of this test', resave: false, saveUninitialized: false }));
  app.use(own.session());
  app.get('/login', own.authenticate('gatehouse') as RequestHandler);
  app.get('/callback', own.authenticate('gatehouse', outcome) as RequestHandler);
  app.get('/refused', (request, response) => response.status(403).send(messagesOf(request).join(' ')));
}

function messagesOf({ session }: Request): string[] {
  return (session as { messages?: string[] }).messages ?? [];
}

async function listInvoices(api: string, account: Account, strategy: GatehouseStrategy): Promise<string[]> {
  const callApi = () =>
    fetch(`${api}/api/v1/accounting/invoices`, {
      headers: { authorization: `Bearer ${account.accessToken}`, 'x-business-id': account.business.id },
    });
  let response = await callApi();
  if (response.status === 401) {
    Object.assign(account, await strategy.renew(account.refreshToken));
    response = await callApi();
  }
  const invoices: { number: string }[] = await response.json();
  return invoices.map(({ number }) => number);
}
