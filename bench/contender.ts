import type { HttpClient, HttpRequest, HttpResponse } from './http-client.ts';

/** A signed-in browser whose user has allowed the app before. */
export interface Visitor {
  /** The index of the user. */
  index: number;
  /** The value of the Cookie header. */
  cookie: string;
}

export interface Tokens {
  access: string;
  refresh: string;
}

export interface ConnectedApp {
  visitor: Visitor;
  tokens: Tokens;
}

/** A running server: its request builders and response checks, which throw `UnexpectedResponse`. */
export interface RunningServer {
  pid: number;
  /** The main process of PostgreSQL; undefined if the server does not use it. */
  findPostmaster?(): Promise<number | undefined>;
  /** Whether the server supports these; the report has a dash where it does not. */
  introspects: boolean;
  revokes: boolean;
  /** Random existing connections of a filled database; undefined for a new database. */
  pick?: ((count: number) => ConnectedApp[]) | undefined;
  /** Overrides for one scenario. */
  forScenario?(scenario: string): RunningServer;
  /** Signs a user in who has allowed the app, so that the authorize endpoint shows no page. */
  signIn(client: HttpClient, index: number): Promise<Visitor>;
  /** Follows the redirects from the authorize endpoint to the code. */
  authorize(client: HttpClient, visitor: Visitor): Promise<string>;
  exchange(code: string): HttpRequest;
  refresh(token: string): HttpRequest;
  readTokens(request: HttpRequest, response: HttpResponse): Tokens;
  call(visitor: Visitor, accessToken: string): HttpRequest;
  checkCall(request: HttpRequest, response: HttpResponse, visitor: Visitor): void;
  introspect(token: string): HttpRequest;
  checkIntrospection(request: HttpRequest, response: HttpResponse, isActive: boolean): void;
  revoke(token: string): HttpRequest;
  checkRevocation(request: HttpRequest, response: HttpResponse): void;
  stop(): Promise<void>;
}

export interface Contender {
  name: string;
  title: string;
  /** Whether it also uses the core of the load generator. */
  needsBothCores: boolean;
  /** Whether it needs the packages of bench/. */
  isPeer: boolean;
  /** Of those that are installed on this machine, for the report. */
  program?: { name: string; version: string };
  start(environment: BenchEnvironment): Promise<RunningServer>;
}

/** Shared by all contenders. */
export interface BenchEnvironment {
  /** For database files; removed at the end. */
  folder: string;
  /** The number of users. */
  users: number;
  /** Starts PostgreSQL at the first call. */
  postgresUrl(): Promise<string>;
}

/** Its message contains the request and the response, with secrets truncated. */
export class UnexpectedResponse extends Error {
  constructor(why: string, request: HttpRequest, response: HttpResponse) {
    super(
      `${why}\n\nRequest:\n${redactSecrets(request.text)}\n\nResponse:\n${redactSecrets(`${response.head}\n\n${response.body}`)}`,
    );
  }
}

function redactSecrets(text: string): string {
  return text.slice(0, 4000).replace(/[\w%.-]{24,}/g, (secret) => `${secret.slice(0, 8)}…`);
}

// biome-ignore lint/suspicious/noExplicitAny: the caller checks the type.
export function readJson(request: HttpRequest, response: HttpResponse, status = 200): any {
  if (response.status !== status) throw new UnexpectedResponse(`The status should be ${status}.`, request, response);
  try {
    return JSON.parse(response.body);
  } catch {
    throw new UnexpectedResponse('The body should be JSON.', request, response);
  }
}
