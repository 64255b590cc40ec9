import type { FastifyInstance } from 'fastify';
import { type AppSecret, addSecret, listSecrets, removeSecret } from '../../apps/secrets.ts';
import type { Database } from '../../storage/storage.ts';
import { notFound } from '../errors.ts';
import { redirectWithFlash } from '../flash.ts';
import { type Form, text, tryForm } from '../forms.ts';
import { actorOf } from '../session.ts';
import { newSecretBody } from './app-pages.ts';
import type { Desk } from './desk.ts';
import { isInUse, removeSecretBody } from './secret-rows.ts';

type ForSecret = { Params: { id: string; secret: string }; Body: Form };

export function mountSecrets(host: FastifyInstance, desk: Desk): void {
  mountAddition(host, desk);
  mountRemoval(host, desk);
}

function mountAddition(host: FastifyInstance, desk: Desk): void {
  const { section, db, clock, issuer, show, enterApp, showApp } = desk;
  host.post<{ Params: { id: string } }>(`${section.path}/:id/secrets`, section.edit, async (request, reply) => {
    const { entry, app } = await enterApp(request);
    const add = async () => {
      const secret = await addSecret(actorOf(request), db, app, clock());
      return show(reply, entry, newSecretBody({ section, issuer }, app, secret));
    };
    return tryForm(add, (problem) => showApp(reply, entry, { app, problem }));
  });
}

/** What is in use is removed only by whoever was asked, and is sure. */
function mountRemoval(host: FastifyInstance, desk: Desk): void {
  const { section, db, clock, show, enterApp, showApp } = desk;
  const removal = `${section.path}/:id/secrets/:secret/remove`;
  host.get<ForSecret>(removal, section.edit, async (request, reply) => {
    const { entry, app, path } = await enterApp(request);
    const { secret, isOnly } = await findSecret(db, app.id, request.params.secret);
    if (isOnly) return reply.redirect(path, 303);
    return show(reply, entry, removeSecretBody({ entry, app, path }, secret));
  });

  host.post<ForSecret>(removal, section.edit, async (request, reply) => {
    const { entry, app, path } = await enterApp(request);
    const { secret, isOnly } = await findSecret(db, app.id, request.params.secret);
    const isSure = isOnly || !isInUse(secret, clock()) || text(request.body ?? {}, 'sure') === 'yes';
    if (!isSure) return reply.redirect(`${path}/secrets/${secret.id}/remove`, 303);
    const remove = async () => {
      const isRemoved = await removeSecret(actorOf(request), db, { app, secretId: secret.id }, clock());
      if (!isRemoved) throw notFound();
      return redirectWithFlash(reply, path, 'secret_removed');
    };
    return tryForm(remove, (problem) => showApp(reply, entry, { app, problem }));
  });
}

async function findSecret(db: Database, appId: string, id: string): Promise<{ secret: AppSecret; isOnly: boolean }> {
  const secrets = await listSecrets(db, appId);
  const secret = secrets.find((each) => each.id === id);
  if (!secret) throw notFound();
  return { secret, isOnly: secrets.length === 1 };
}
