import multipart from '@fastify/multipart';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { MAX_IMAGE_BYTES } from '../lib/images.ts';
import { hidePlatform } from './access.ts';
import type { WebDeps } from './deps.ts';
import { PageError } from './errors.ts';
import { resumeAfterBody } from './session.ts';

/** A file that is a little too large is rejected on the form. Beyond this, nothing is read. */
const MAX_BODY_BYTES = 4 * MAX_IMAGE_BYTES;

/** One byte more than is accepted, so that a file that was cut off is recognised. */
const LIMITS = { fileSize: MAX_IMAGE_BYTES + 1, files: 1, fields: 4, parts: 5, fieldSize: 1024, fieldNameSize: 50 };

/**
 * Lets the routes of this scope accept a form with a file. The file is in the body, as bytes, when the CSRF token is checked. Its
 * name and its declared type are not read.
 */
export async function acceptUploads(scope: FastifyInstance, deps: WebDeps): Promise<void> {
  await scope.register(multipart, { limits: LIMITS, throwFileSizeLimit: false });
  scope.addHook('onRequest', async ({ headers }) => {
    if (isMultipart(headers['content-type']) && !(Number(headers['content-length']) <= MAX_BODY_BYTES))
      throw tooLarge();
  });
  scope.addHook('preValidation', async (request) => {
    if (!request.isMultipart()) return;
    request.body = await readParts(request);
    // The body was read after the checks of every other form.
    await resumeAfterBody(request, deps);
    hidePlatform(request);
  });
}

function isMultipart(type = ''): boolean {
  return /^multipart\//i.test(type);
}

async function readParts(request: FastifyRequest): Promise<Record<string, unknown>> {
  const body: Record<string, unknown> = {};
  try {
    for await (const part of request.parts()) {
      body[part.fieldname] = part.type === 'file' ? await part.toBuffer() : part.value;
    }
    return body;
  } catch (error) {
    // Errors of the parser have no status.
    const { statusCode = 400 } = error as { statusCode?: number };
    throw statusCode === 413
      ? tooLarge()
      : new PageError(400, 'Bad request', 'The upload could not be read. Try again.');
  }
}

function tooLarge(): PageError {
  const sentence = `A logo has at most ${MAX_IMAGE_BYTES / 1024} kB. Go back and choose a smaller file.`;
  return new PageError(413, 'The file is too large', sentence);
}
