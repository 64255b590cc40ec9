import { findLanguage, type Languages } from '../languages/languages.ts';
import { DAY, HOUR, MINUTE, SECOND } from '../lib/clock.ts';
import { newId } from '../lib/ids.ts';
import { decrypt, encrypt, type Keyring } from '../lib/keyring.ts';
import { retentionStep } from '../storage/retention.ts';
import type { Database } from '../storage/storage.ts';
import { type MailBrand, renderMail } from './render.ts';
import { type MailKind, type MailValues, textOf } from './texts.ts';
import type { OutgoingMail, Recipient } from './transport.ts';

type MailOutcome = 'queued' | 'sent' | 'failed';

/** What a function of the domain needs to send mail. */
export interface Mailer {
  /** False without SMTP_URL and MAIL_FROM: then nothing is queued. */
  isOn: boolean;
  keys: Keyring;
  /** CONSENT_URL. Links never depend on a request. */
  origin: string;
  platformName: string;
  /** The languages of the mails. The first is the default. */
  languages: Languages;
  brand?: MailBrand | undefined;
  count(outcome: MailOutcome): void;
}

export interface NewMail<Kind extends MailKind> {
  kind: Kind;
  /** Undefined for an address that gets no mail. The work is the same, so that it does not reveal which accounts exist. */
  to: Recipient | undefined;
  /** The account that it concerns, if any. */
  userId?: string;
  /** The tag of the language: that of the reader's setting, or of the page that caused the mail. */
  language: string | null | undefined;
  /** What it is about. A mail that waits is replaced by a newer one of the same kind and cause. */
  cause: string;
  values: MailValues<Kind>;
  /** A path below CONSENT_URL, for kinds with a link. */
  path?: string;
  /** In milliseconds: how long it is worth sending. A link is useless after it has expired. */
  validFor?: number;
}

/** At most one mail per kind and cause is sent in this time. A newer one waits. */
const MIN_INTERVAL = MINUTE;
const KEPT_FOR = 30 * DAY;
const PURPOSE = 'mail';

/** Queues a mail in the transaction of the change. It is sent after the commit, or not at all. */
export async function queueMail<Kind extends MailKind>(
  tx: Database,
  mailer: Mailer,
  mail: NewMail<Kind>,
  now: number,
): Promise<void> {
  if (!mailer.isOn) return;
  const { kind, to, userId = null, validFor = DAY } = mail;
  const cause = `${kind} ${mail.cause}`;
  const dueAt = Math.max(now, (await findLastSent(tx, cause)) + MIN_INTERVAL);
  const content = encrypt(mailer.keys, PURPOSE, JSON.stringify(compose(mailer, mail)));
  const waiting = { content, attempts: 0, claimed_until: 0, give_up_at: Math.max(dueAt, now + validFor) };
  const replacement = { ...waiting, due_at: dueAt };
  await tx
    .insertInto('mails')
    .values({
      id: newId(now),
      kind,
      cause,
      user_id: userId,
      ...waiting,
      created_at: now,
      sent_at: null,
      ...(to ? { due_at: dueAt } : { due_at: null, content: null }),
    })
    .onConflict((conflict) => conflict.column('cause').where('due_at', 'is not', null).doUpdateSet(replacement))
    .execute();
  if (to) mailer.count('queued');
}

/** 0 if there was none. */
async function findLastSent(db: Database, cause: string): Promise<number> {
  const row = await db
    .selectFrom('mails')
    .select(({ fn }) => fn.max('sent_at').as('last'))
    .where('cause', '=', cause)
    .executeTakeFirst();
  return Number(row?.last ?? 0);
}

type Content = Omit<OutgoingMail, 'id'>;

function compose<Kind extends MailKind>(mailer: Mailer, { kind, to, values, path, language }: NewMail<Kind>): Content {
  const { platformName, origin, brand, languages } = mailer;
  const texts = findLanguage(languages, language ?? '') ?? languages[0];
  const words = textOf(texts, kind, { ...values, platformName });
  const link = path === undefined ? undefined : origin + path;
  return { to: to ?? { address: '' }, ...renderMail(words, { texts, name: to?.name, link, platformName, brand }) };
}

/** Only this node sends it, until the lease ends. */
export interface ClaimedMail {
  id: string;
  kind: string;
  attempts: number;
  giveUpAt: number;
  /** When the claim ends, unless it is renewed. It also identifies the claim. */
  lease: number;
  /** Undefined if the key that encrypted it is gone. */
  message: OutgoingMail | undefined;
}

export async function areMailsDue(db: Database, now: number): Promise<boolean> {
  return (await selectDue(db, now).select('id').limit(1).executeTakeFirst()) !== undefined;
}

/** Claims the mail that has been due longest. Needs a transaction. If this node crashes, another claims it after the lease. */
export async function claimMail(
  tx: Database,
  keys: Keyring,
  lease: number,
  now: number,
): Promise<ClaimedMail | undefined> {
  const due = selectDue(tx, now).selectAll().orderBy('due_at').limit(1);
  const row = await due.forUpdate().skipLocked().executeTakeFirst();
  if (!row) return undefined;
  const { id, kind, attempts, content, give_up_at: giveUpAt } = row;
  await tx.updateTable('mails').set({ claimed_until: lease }).where('id', '=', id).execute();
  const text = decrypt(keys, PURPOSE, content ?? '');
  const message = text === undefined ? undefined : { id, ...(JSON.parse(text) as Content) };
  return { id, kind, attempts, giveUpAt, lease, message };
}

/** Changes nothing if the claim is over, or a newer mail has replaced this one. */
export async function renewClaim(db: Database, mail: ClaimedMail, lease: number): Promise<void> {
  const { numUpdatedRows } = await updateClaimed(db, mail).set({ claimed_until: lease }).executeTakeFirstOrThrow();
  if (numUpdatedRows === 1n) mail.lease = lease;
}

function selectDue(db: Database, now: number) {
  return db.selectFrom('mails').where('due_at', '<=', now).where('claimed_until', '<=', now);
}

/** Keeps the row without its content. Changes nothing if a newer mail has replaced this one meanwhile: that one is still due. */
export function recordSent(db: Database, mail: ClaimedMail, now: number): Promise<void> {
  return finish(db, mail, { due_at: null, content: null, sent_at: now });
}

/** The delay after each failed attempt. */
const DELAYS = [10 * SECOND, MINUTE, 5 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 4 * HOUR];

/** Returns whether it will be tried again. */
export async function recordFailure(
  db: Database,
  mail: ClaimedMail,
  { isPermanent }: { isPermanent: boolean },
  now: number,
): Promise<boolean> {
  const attempts = mail.attempts + 1;
  const next = now + (DELAYS[attempts - 1] ?? DELAYS.at(-1) ?? DAY);
  const isOver = isPermanent || next >= mail.giveUpAt;
  await finish(db, mail, isOver ? { attempts, due_at: null, content: null } : { attempts, due_at: next });
  return !isOver;
}

interface Change {
  due_at: number | null;
  attempts?: number;
  content?: null;
  sent_at?: number;
}

async function finish(db: Database, mail: ClaimedMail, change: Change): Promise<void> {
  await updateClaimed(db, mail)
    .set({ ...change, claimed_until: 0 })
    .execute();
}

function updateClaimed(db: Database, { id, lease }: ClaimedMail) {
  return db.updateTable('mails').where('id', '=', id).where('claimed_until', '=', lease);
}

/** After a restore: a mail that waits in the backup may have been sent since. Returns their number. */
export async function dropWaitingMails(db: Database): Promise<number> {
  const drop = db.updateTable('mails').set({ due_at: null, content: null }).where('due_at', 'is not', null);
  return Number((await drop.executeTakeFirstOrThrow()).numUpdatedRows);
}

export const oldMails = retentionStep('mails', ['id'], 'created_at', (now) => now - KEPT_FOR);
