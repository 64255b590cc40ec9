import forms from '@fastify/formbody';
import type { FastifyInstance } from 'fastify';
import { ApiError } from './oauth/errors.ts';

export const BODY_LIMIT = 64 * 1024;

/** JSON as the API reference has it, and forms as RFC 6749 has them; nothing else, and no name twice. */
export function readJsonAndForms(host: FastifyInstance): void {
  const parseJson = host.getDefaultJsonParser('error', 'error');
  const asText = { parseAs: 'string', bodyLimit: BODY_LIMIT } as const;
  host.removeAllContentTypeParsers();
  host.addContentTypeParser<string>('application/json', asText, (request, text, done) => {
    parseJson(request, text, (error, body) => done(error ?? (repeatsName(text, body) ? sentTwice() : null), body));
  });
  host.addContentTypeParser<string>('application/x-www-form-urlencoded', asText, (_, text, done) => {
    const fields = [...new URLSearchParams(text)];
    const body = Object.fromEntries(fields);
    done(Object.keys(body).length < fields.length ? sentTwice() : null, body);
  });
}

/** Here a name may come several times: a form has lists. */
export function readForms(host: FastifyInstance): void {
  host.removeAllContentTypeParsers();
  host.register(forms, { bodyLimit: BODY_LIMIT });
}

/** JSON lets the last of two equal names win. In an object of texts, every name and every value is one quoted text. */
function repeatsName(text: string, body: unknown): boolean {
  if (typeof body !== 'object' || body === null) return false;
  const entries = Object.entries(body);
  if (!entries.every(([, value]) => typeof value === 'string')) return false;
  // Most send it as short as it can be: nothing was left out then.
  const around = '"":"",'.length;
  const shortest = entries.reduce((length, [name, value]) => length + name.length + value.length + around, '{}'.length);
  if (text.length === shortest - ','.length) return false;
  const quoted = text.match(/"(?:[^"\\]|\\.)*"/g)?.length ?? 0;
  return quoted > 2 * entries.length;
}

function sentTwice(): ApiError {
  const description = 'A field was sent twice.';
  return new ApiError({ status: 400, code: 'invalid_request', reason: 'field_repeated', description });
}
