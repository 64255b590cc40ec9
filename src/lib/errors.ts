/** Invalid input from a person: which field is wrong, and how to correct it. */
export class FormError extends Error {
  readonly field: string;
  /** For a field with several rows: what is wrong in each, in their order. */
  readonly rows: Rows | undefined;

  constructor(field: string, sentence: string, rows?: Rows) {
    super(sentence);
    this.field = field;
    this.rows = rows;
  }
}

type Rows = readonly (string | undefined)[];

/** A 503; the API and the pages each render it in their own format. */
export class Overloaded extends Error {
  readonly retryAfter = 1;

  constructor() {
    super('The server is overloaded. Try again in a moment.');
  }
}

/** A 429; the API and the pages each render it in their own format. */
export class TooManyRequests extends Error {
  readonly retryAfter: number;

  constructor(retryAfter: number) {
    const wait = retryAfter < 120 ? `${retryAfter} s` : `${Math.ceil(retryAfter / 60)} minutes`;
    super(`Too many attempts. Try again in ${wait}.`);
    this.retryAfter = retryAfter;
  }
}
