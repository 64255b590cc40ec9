import type { Membership } from '../accounts/memberships.ts';
import type { Done } from './done.ts';

/** A refusal to a person who asked for a page. */
export class PageError extends Error {
  readonly status: number;
  readonly title: string;

  constructor(status: number, title: string, sentence: string) {
    super(sentence);
    this.status = status;
    this.title = title;
  }
}

/** What does not exist and what is not yours look alike. */
export function notFound(): PageError {
  return new PageError(404, 'Page not found', 'There is nothing at this address, or it is not yours to see.');
}

/** The page belongs to other businesses of this user. The error page offers to switch to one of them. */
export class OtherBusiness extends PageError {
  readonly businesses: Membership[];
  /** The page to open after the switch. */
  readonly returnTo: string;

  constructor(businesses: Membership[], returnTo: string, sentence: string) {
    super(409, 'This page belongs to another business', sentence);
    this.businesses = businesses;
    this.returnTo = returnTo;
  }
}

export function forbidden(sentence: string): PageError {
  return new PageError(403, 'Not allowed', sentence);
}

/** Only someone who is signed in can go on; they come back to `returnTo` afterwards. */
export class SignInRequired extends Error {
  readonly returnTo: string;
  /** What is said where they sign in. */
  readonly done: Done | undefined;

  constructor(returnTo: string, done?: Done) {
    super('Sign in first.');
    this.returnTo = returnTo;
    this.done = done;
  }
}

/** Someone sent a form of ours, and is no longer signed in: what they typed is lost, so they are told why. */
export function sessionOver(returnTo: string): SignInRequired {
  return new SignInRequired(returnTo, 'session_over');
}
