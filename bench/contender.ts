import type { Answer, Lane, Request } from './wire.ts';

/** Someone in front of a browser that is signed in, who has allowed the app before. */
export interface Visitor {
  /** Which of the people it is. */
  place: number;
  /** As the header has it. */
  cookie: string;
}

export interface Tokens {
  access: string;
  refresh: string;
}

export interface Connected {
  visitor: Visitor;
  tokens: Tokens;
}

/** A server that runs, and how it is spoken to. Whoever reads an answer throws `WrongAnswer` if it is not right. */
export interface Running {
  pid: number;
  /** The process whose children work for it, whichever database they are at work in; undefined where there is none. */
  findPostmaster?(): Promise<number | undefined>;
  /** What a scenario needs it to have; what it has not is shown as a dash. */
  introspects: boolean;
  revokes: boolean;
  /** So many connections that have long been there, from anywhere in the database; undefined where there are none. */
  pick?: ((count: number) => Connected[]) | undefined;
  /** How it is spoken to in one scenario, where that is not as in the others. */
  speakFor?(scenario: string): Running;
  /** Brings someone in who is signed in and has allowed the app, so that the authorize endpoint need not ask. */
  welcome(lane: Lane, place: number): Promise<Visitor>;
  /** From the authorize endpoint to the code, as a browser goes. */
  authorize(lane: Lane, visitor: Visitor): Promise<string>;
  exchange(code: string): Request;
  refresh(token: string): Request;
  readTokens(request: Request, answer: Answer): Tokens;
  call(visitor: Visitor, accessToken: string): Request;
  checkCall(request: Request, answer: Answer, visitor: Visitor): void;
  introspect(token: string): Request;
  checkIntrospection(request: Request, answer: Answer, isActive: boolean): void;
  revoke(token: string): Request;
  checkRevocation(request: Request, answer: Answer): void;
  stop(): Promise<void>;
}

export interface Contender {
  name: string;
  title: string;
  /** Whether its work also needs the core that the load is on. */
  needsBothCores: boolean;
  /** Whether it comes from the packages of bench/. */
  isPeer: boolean;
  start(setting: Setting): Promise<Running>;
}

/** What a contender is given to run in. */
export interface Setting {
  /** For its files; removed at the end. */
  folder: string;
  /** How many people there are. */
  people: number;
  /** A PostgreSQL that runs, for those who need one. */
  postgresUrl(): Promise<string>;
}

/** Every secret in it is cut, so that it can be shown to anyone. */
export class WrongAnswer extends Error {
  constructor(why: string, request: Request, answer: Answer) {
    super(
      `${why}\n\nIt was asked:\n${cutSecrets(request.text)}\n\nIt answered:\n${cutSecrets(`${answer.head}\n\n${answer.body}`)}`,
    );
  }
}

function cutSecrets(text: string): string {
  return text.slice(0, 4000).replace(/[\w%.-]{24,}/g, (secret) => `${secret.slice(0, 8)}…`);
}

/** The parts of an answer in JSON. */
// biome-ignore lint/suspicious/noExplicitAny: it is whatever came, and the caller checks what it should be.
export function readJson(request: Request, answer: Answer, status = 200): any {
  if (answer.status !== status) throw new WrongAnswer(`It should be ${status}.`, request, answer);
  try {
    return JSON.parse(answer.body);
  } catch {
    throw new WrongAnswer('It should be JSON.', request, answer);
  }
}
