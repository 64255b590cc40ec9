/** A refusal to a person who asked for a page. */
export class PageRefused extends Error {
  readonly status: number;
  readonly title: string;

  constructor(status: number, title: string, sentence: string) {
    super(sentence);
    this.status = status;
    this.title = title;
  }
}

/** What does not exist and what is not yours look alike. */
export function notFound(): PageRefused {
  return new PageRefused(404, 'Page not found', 'There is nothing at this address, or it is not yours to see.');
}

export function forbidden(sentence: string): PageRefused {
  return new PageRefused(403, 'Not allowed', sentence);
}

/** Only someone who is signed in can go on; they come back to `returnTo` afterwards. */
export class SignInNeeded extends Error {
  readonly returnTo: string;

  constructor(returnTo: string) {
    super('Sign in first.');
    this.returnTo = returnTo;
  }
}
