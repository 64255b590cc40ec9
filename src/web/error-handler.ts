import type { FastifyRequest } from 'fastify';
import type { SendErrorPage } from '../http/error-handler.ts';
import { errorLocation } from '../oauth/authorize/callback.ts';
import { CallbackError } from '../oauth/errors.ts';
import { type ErrorNavigation, errorPage, hasNavigation, SignInRequired } from './errors.ts';
import { redirectWithFlash } from './flash.ts';
import { sendPage } from './layout.ts';

interface ErrorPageDeps {
  platformName: string;
  issuer: string;
  /** Only on the host that knows sessions. */
  loadNavigation?: ((request: FastifyRequest) => Promise<ErrorNavigation>) | undefined;
}

/** Responds to errors in a browser: with a redirect, or with a page that links back into the site. */
export function createErrorPages({ platformName, issuer, loadNavigation }: ErrorPageDeps): SendErrorPage {
  return async (error, request, reply) => {
    if (error instanceof CallbackError) {
      reply.reason = error.refusal.reason;
      return reply.redirect(errorLocation(error, issuer), 303);
    }
    if (error instanceof SignInRequired) {
      const address = `/sign-in?${new URLSearchParams({ return_to: error.returnTo })}`;
      return error.flash ? redirectWithFlash(reply, address, error.flash) : reply.redirect(address, 303);
    }
    // Without navigation if the database fails meanwhile.
    const navigation = hasNavigation(error) ? await loadNavigation?.(request).catch(() => undefined) : undefined;
    const { status, headers, page } = errorPage(error, { platformName, requestId: request.id, navigation });
    return sendPage(reply.headers(headers), page, { status });
  };
}
