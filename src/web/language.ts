import type { FastifyRequest } from 'fastify';
import type { User } from '../accounts/users.ts';
import type { Texts } from '../languages/en.ts';
import { chooseLanguage, type Languages } from '../languages/languages.ts';

/** The texts of a hosted page, in the language of `user`, by default the signed-in user. */
export function textsOf(
  { languages }: { languages: Languages },
  request: FastifyRequest,
  user: Pick<User, 'language'> | undefined = request.session?.user,
): Texts {
  const acceptLanguage = request.headers['accept-language'];
  return chooseLanguage(languages, { uiLocales: findUiLocales(request), setting: user?.language, acceptLanguage });
}

/** `ui_locales` of this authorize request, or of the one that the page leads back to. The first value, if it is repeated. */
function findUiLocales({ query, body }: Pick<FastifyRequest, 'query' | 'body'>): string | undefined {
  const [sent, form] = [query, body].map((fields) => (fields ?? {}) as Record<string, unknown>);
  const [requested] = [sent?.ui_locales].flat();
  if (typeof requested === 'string') return requested;
  const returnTo = sent?.return_to ?? form?.return_to;
  if (typeof returnTo !== 'string') return undefined;
  return URL.parse(returnTo, 'http://localhost')?.searchParams.get('ui_locales') ?? undefined;
}

/** For a hosted page without `return_to`, which would lose the language that the app requested. */
export function withUiLocales(request: FastifyRequest, path: string): string {
  const uiLocales = findUiLocales(request);
  return uiLocales === undefined ? path : `${path}?${new URLSearchParams({ ui_locales: uiLocales })}`;
}
