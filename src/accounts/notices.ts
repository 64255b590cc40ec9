import { countRepeat } from '../audit/repeats.ts';
import { en } from '../languages/en.ts';
import { findLanguage } from '../languages/languages.ts';
import type { NoticeText } from '../languages/texts.ts';
import { DAY, HOUR } from '../lib/clock.ts';
import { newId } from '../lib/ids.ts';
import { type Mailer, queueMail } from '../mail/mails.ts';
import { type NoticeKind, type NoticeValues, noticeText } from '../mail/notice-texts.ts';
import { preparedQuery } from '../storage/prepared-query.ts';
import { retentionStep } from '../storage/retention.ts';
import type { Database } from '../storage/storage.ts';
import { listOwnerIds } from './memberships.ts';
import { noticePage } from './notice-pages.ts';
import { findUser, listPlatformAdminIds, recipientOf } from './users.ts';

interface NewNotice<Kind extends NoticeKind> {
  kind: Kind;
  values: NoticeValues<Kind>;
  /** What it is about. With a cause, only the first notice within an hour is stored. Without one, every notice is. */
  cause?: string;
}

export interface Notice extends NoticeText {
  id: string;
  at: number;
  path: string;
}

const KEPT_FOR = 90 * DAY;
const REPEAT_WINDOW = HOUR;
/** A notice that is older is not mailed: mail was off. */
const MAILED_WITHIN = DAY;

/** Call it in the transaction of the change. The account page shows the notice; a job mails it, if mail is on. */
export async function notify<Kind extends NoticeKind>(
  tx: Database,
  userIds: string[],
  { kind, values, cause }: NewNotice<Kind>,
  now: number,
): Promise<void> {
  if (userIds.length === 0) return;
  if (cause !== undefined && !(await isFirstNotice(tx, { kind, cause }, now))) return;
  const rows = userIds.map((userId) => rowOf(userId, { kind, values }, now));
  await tx.insertInto('notices').values(rows).execute();
}

/** Counts the notice. */
export async function isFirstNotice(
  tx: Database,
  { kind, cause }: { kind: NoticeKind; cause: string },
  now: number,
): Promise<boolean> {
  return (await countRepeat(tx, { key: `notice ${kind} ${cause}`, window: REPEAT_WINDOW }, now)) === 1;
}

/** For a caller that has counted it with `isFirstNotice`. */
export async function addNotice<Kind extends NoticeKind>(
  tx: Database,
  userId: string,
  notice: Omit<NewNotice<Kind>, 'cause'>,
  now: number,
): Promise<void> {
  await insertNotice(tx, rowOf(userId, notice, now));
}

type NoticeRow = ReturnType<typeof rowOf>;

const insertNotice = preparedQuery((db, { id, user_id, kind, detail, at, mail_due }: NoticeRow) =>
  db.insertInto('notices').values({ id, user_id, kind, detail, at, mail_due }),
);

function rowOf<Kind extends NoticeKind>(userId: string, { kind, values }: Omit<NewNotice<Kind>, 'cause'>, now: number) {
  return { id: newId(now), user_id: userId, kind, detail: JSON.stringify(values), at: now, mail_due: 1 };
}

/** Notifies the owners of the business that owns an app, or the platform admins about an app of the platform. */
export async function notifyOwners<Kind extends NoticeKind>(
  tx: Database,
  businessId: string | null,
  notice: NewNotice<Kind>,
  now: number,
): Promise<void> {
  const owners = businessId === null ? await listPlatformAdminIds(tx) : await listOwnerIds(tx, businessId);
  await notify(tx, owners, notice, now);
}

/** Newest first, in English. */
export async function listNotices(
  db: Database,
  { userId, limit }: { userId: string; limit: number },
  now: number,
): Promise<Notice[]> {
  const rows = await db
    .selectFrom('notices')
    .selectAll()
    .where('user_id', '=', userId)
    .where('at', '>', now - KEPT_FOR)
    .orderBy('id', 'desc')
    .limit(limit)
    .execute();
  return rows.flatMap(({ id, at, kind, detail }) => {
    const stored = JSON.parse(detail);
    const [text, path] = [noticeText(en, kind, stored), noticePage(kind, stored)];
    return text && path ? [{ id, at, path, ...text }] : [];
  });
}

const BATCH = 50;

/** Queues the mails for new notices. Needs a transaction. Returns how many notices it has processed. */
export async function mailNotices(tx: Database, mailer: Mailer, now: number): Promise<number> {
  const due = tx.selectFrom('notices').selectAll().where('mail_due', '=', 1).orderBy('id').limit(BATCH);
  const notices = await due.forUpdate().skipLocked().execute();
  if (notices.length === 0) return 0;
  const ids = notices.map(({ id }) => id);
  await tx.updateTable('notices').set({ mail_due: 0 }).where('id', 'in', ids).execute();
  for (const { user_id: userId, kind, detail, at } of notices) {
    const user = await findUser(tx, userId);
    const language = user?.language;
    const texts = findLanguage(mailer.languages, language ?? '') ?? mailer.languages[0];
    const stored = JSON.parse(detail);
    const [values, path] = [noticeText(texts, kind, stored), noticePage(kind, stored)];
    // An address that is not verified may belong to someone else.
    if (!values || !path || !user || user.disabledAt !== null || user.emailVerifiedAt === null) continue;
    if (now - at >= MAILED_WITHIN) continue;
    const cause = `${userId} ${kind}`;
    await queueMail(
      tx,
      mailer,
      {
        kind: 'notice',
        to: recipientOf(user),
        userId,
        language,
        cause,
        values,
        path,
      },
      now,
    );
  }
  return notices.length;
}

export async function areNoticesDue(db: Database): Promise<boolean> {
  const due = db.selectFrom('notices').select('id').where('mail_due', '=', 1).limit(1);
  return (await due.executeTakeFirst()) !== undefined;
}

export async function deleteNoticesOfUser(db: Database, userId: string): Promise<void> {
  await db.deleteFrom('notices').where('user_id', '=', userId).execute();
}

export const oldNotices = retentionStep('notices', ['id'], 'at', (now) => now - KEPT_FOR);
