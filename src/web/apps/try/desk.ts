import type { FastifyReply, FastifyRequest } from 'fastify';
import type { App } from '../../../apps/apps.ts';
import type { Scopes } from '../../../lib/scope-lists.ts';
import type { Problem } from '../../forms.ts';
import { requireSession } from '../../session.ts';
import type { AppRequest, Desk } from '../desk.ts';
import type { Trial } from './frame.ts';
import { type Question, startBody } from './pages.ts';
import { keepWalk, openWalk, type PlaygroundState } from './walk.ts';

export type TryDesk = ReturnType<typeof openTryDesk>;

/** What every page of a walk does: let in, know how far someone has come, and begin again where that cannot be known. */
export function openTryDesk(desk: Desk) {
  const { keys, clock, issuer, consentUrl, section, enterApp, show } = desk;
  const returnAddress = `${consentUrl}${section.path}/try`;

  function showStart(reply: FastifyReply, trial: Trial, { question, problem }: Start = {}): FastifyReply {
    const body = startBody(trial, question ?? usualQuestion(trial), problem);
    return show(reply, trial.entry, body, problem ? 400 : 200);
  }

  return {
    ...desk,
    returnAddress,
    showStart,

    async enterTrial(request: AppRequest): Promise<Trial> {
      return { section, ...(await enterApp(request)), issuer, returnAddress };
    },

    keep: (request: FastifyRequest, walk: PlaygroundState): string =>
      keepWalk({ keys, session: requireSession(request) }, walk, clock()),

    open: (request: FastifyRequest, kept: string): PlaygroundState | undefined =>
      openWalk({ keys, session: requireSession(request) }, kept, clock()),

    showLost: (reply: FastifyReply, trial: Trial): FastifyReply =>
      showStart(reply, trial, {
        problem: { field: 'walk', message: 'Start again: this was begun over 30 minutes ago, or by someone else.' },
      }),
  };
}

interface Start {
  question?: Question;
  problem?: Problem;
}

/** Nobody is asked for more than to be looked at, unless the developer says so. */
function usualQuestion({ app, returnAddress }: Trial): Question {
  const { redirectUris } = app;
  const redirectUri = redirectUris.includes(returnAddress) ? returnAddress : (redirectUris[0] ?? '');
  return { scopes: usualScopes(app), redirectUri };
}

function usualScopes({ allowedScopes }: App): Scopes {
  return allowedScopes.includes('read:invoices') ? ['read:invoices'] : allowedScopes;
}
