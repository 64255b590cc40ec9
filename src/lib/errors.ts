/** A refusal to a person: which field is wrong, and what to do about it. */
export class FormError extends Error {
  readonly field: string;

  constructor(field: string, sentence: string) {
    super(sentence);
    this.field = field;
  }
}

/** Said to whoever comes when there is more to do than can be done; each edge renders it as its own kind of 503. */
export class Overloaded extends Error {
  readonly retryAfter = 1;

  constructor() {
    super('There is too much to do just now. Try again in a moment.');
  }
}

/** Said to whoever asks too often; each edge renders it as its own kind of 429. */
export class TooManyRequests extends Error {
  readonly retryAfter: number;

  constructor(retryAfter: number) {
    const wait = retryAfter < 120 ? `${retryAfter} s` : `${Math.ceil(retryAfter / 60)} minutes`;
    super(`Too many attempts. Try again in ${wait}.`);
    this.retryAfter = retryAfter;
  }
}
