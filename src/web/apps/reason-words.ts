import { ERROR_CODES, explainError } from '../reference/error-guide.ts';

/** A reason in words, and the error that it belongs to. */
interface ReasonInWords {
  code: string;
  words: string;
}

/** The first sentence of what the reference says. Some reasons belong to two errors; which, depends on what was asked. */
export function explainReason(reason: string, route: string): ReasonInWords | undefined {
  const codes = ERROR_CODES.filter((code) => Object.hasOwn(explainError(code)?.reasons ?? {}, reason));
  const usual = route.startsWith('/api/v1/oauth/') ? 'invalid_grant' : 'invalid_token';
  const code = codes.includes(usual) ? usual : codes[0];
  if (code === undefined) return undefined;
  const [words = ''] = /^.*?[.:](?=\s|$)/.exec(explainError(code)?.reasons[reason] ?? '') ?? [];
  return { code, words: words.replace(/:$/, '.') };
}
