import { describeWait, PROBLEMS, type Sentence } from './problems.ts';

/** Invalid input from a person: which field is wrong, and how to correct it. */
export class FormError extends Error {
  readonly field: string;
  /** Absent for forms that are in English only. */
  readonly textIn: Sentence | undefined;
  /** For a field with several rows: what is wrong in each, in their order. */
  readonly rows: Rows | undefined;

  constructor(field: string, sentence: string | Sentence, rows?: Rows) {
    super(typeof sentence === 'string' ? sentence : sentence(PROBLEMS));
    this.field = field;
    this.textIn = typeof sentence === 'string' ? undefined : sentence;
    this.rows = rows;
  }
}

type Rows = readonly (string | undefined)[];

/** A setting of the server that cannot be used. The message names it. */
export class InvalidSetting extends Error {}

/** A 503; the API and the pages each render it in their own format. */
export class Overloaded extends Error {
  readonly retryAfter = 1;
  readonly textIn: Sentence = (problems) => problems.overloaded;

  constructor() {
    super(PROBLEMS.overloaded);
  }
}

/** A 429; the API and the pages each render it in their own format. */
export class TooManyRequests extends Error {
  readonly retryAfter: number;
  /** Absent if the message says what was counted: it is in English only. */
  readonly textIn: Sentence | undefined;

  /** `counted` is what the limit counts: `requests of this app`. */
  constructor(retryAfter: number, counted?: string) {
    super(`Too many ${counted ?? 'attempts'}. Try again in ${describeWait(retryAfter)}.`);
    this.retryAfter = retryAfter;
    this.textIn = counted === undefined ? (problems) => problems.tooManyAttempts(retryAfter) : undefined;
  }
}

/** Nobody reads the response. The status is only in the log, where nginx has the same. */
export class ClientGone extends Error {
  readonly statusCode = 499;

  constructor() {
    super('The client closed the connection.');
  }
}
