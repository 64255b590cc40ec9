/**
 * What a form on a hosted page can say about its input. In English; the catalogue of each language has the same sentences.
 * They are here, and not in the catalogue, because the modules of this folder use them.
 */
export const PROBLEMS = {
  nameMissing: 'Enter a name.',
  nothingVisible: 'Enter visible characters.',
  visibleOnly: 'Use visible characters only.',
  nameWithAddress: 'Use a name without /, @ and www.',
  tooLong: (most: number) => `Use at most ${most.toLocaleString('en-GB')} characters.`,
  emailMalformed: 'Enter an email address, like ada@example.com.',
  emailMixed: 'Use letters of one alphabet only.',
  passwordShort: 'Use at least 8 characters.',
  passwordIsEmail: 'Use something other than the email address.',
  passwordCommon: 'This is one of the passwords that attackers try first. Choose another.',
  addressTaken:
    'There is already an account with this email address. Sign in with it to join. If you cannot, use “Forgot your password?” on the sign-in page.',
  alreadyMember: (business: string) => `You are already a member of ${business}.`,
  otherAddress: 'You cannot join with this account: the invitation is for a different address.',
  addressNotVerified: 'You cannot join with this account: its address is not verified.',
  wrongCode: 'This code is wrong, or has been used. Wait for the next one and try again.',
  endMissing: 'Choose how long the app may have access.',
  tooManyRequests: (most: number) =>
    `${most} of your requests are waiting for an owner of this business. Wait until one is decided.`,
  tooManyAttempts: (seconds: number) => `Too many attempts. Try again in ${describeWait(seconds)}.`,
  overloaded: 'The server is overloaded. Try again in a moment.',
};

export function describeWait(seconds: number): string {
  if (seconds >= 120) return `${Math.ceil(seconds / 60)} minutes`;
  return seconds === 1 ? '1 second' : `${seconds} seconds`;
}

export type Problems = typeof PROBLEMS;

/** Picks a sentence in whichever language it is shown in. */
export type Sentence = (problems: Problems) => string;
