import type { Access } from '../../../src/web/access.ts';
import { expectedOf, namesObject } from './cases.ts';
import { type Declared, readDeclaredAccess } from './declared.ts';
import { GROUPS, ownStatus, RULES, type Rule, type Visitor } from './routes.ts';

/** A column of the matrix. `as` is the visitor whose rules apply. */
interface Role {
  title: string;
  as: Visitor;
  meaning: string;
}

export const ROLES = {
  anonymous: { title: 'signed out', as: 'anonymous', meaning: 'has no session' },
  suspended: { title: 'suspended', as: 'anonymous', meaning: 'a platform admin has disabled the account' },
  outsider: { title: 'no business', as: 'outsider', meaning: 'signed in, and a member of no business' },
  former: { title: 'former member', as: 'outsider', meaning: 'was removed from the business, and is still signed in' },
  member: { title: 'member', as: 'member', meaning: 'has the role `member` in the business' },
  demoted: { title: 'former owner', as: 'member', meaning: 'an owner who was made a member, and is still signed in' },
  admin: { title: 'admin', as: 'admin', meaning: 'has the role `admin` in the business' },
  owner: { title: 'owner', as: 'owner', meaning: 'has the role `owner` in the business' },
  unfactored: {
    title: 'owner, one factor',
    as: 'owner',
    meaning: 'an owner without the second factor that is required',
  },
  elsewhere: { title: 'owner elsewhere', as: 'owner', meaning: 'an owner of another business only' },
  platform: { title: 'platform admin', as: 'platform', meaning: 'a platform admin, and a member of no business' },
} satisfies Record<string, Role>;

export type RoleName = keyof typeof ROLES;

const ALLOWED: Record<Access, keyof typeof GROUPS> = {
  anyone: 'anyone',
  signed_in: 'signedIn',
  member: 'members',
  admin: 'editors',
  owner: 'owners',
  platform_admin: 'platform',
};

/** The visitors that the declaration of a page allows. */
export function visitorsAllowedBy({ access }: Declared): readonly Visitor[] {
  return GROUPS[ALLOWED[access]];
}

/** Pages for anyone that ask a signed-in user for the second factor themselves. */
const ASKS_ITSELF = ['GET /consent', 'POST /consent', 'POST /invitation/:token'];

/** Whether a user without the required second factor is sent to set it up instead. */
export function isSetUpFirst(operation: string, { access, isBeforeSecondFactor }: Declared, role: RoleName): boolean {
  if (access === 'anyone') return ASKS_ITSELF.includes(operation);
  return (access !== 'platform_admin' || role === 'platform') && !isBeforeSecondFactor;
}

interface Page {
  route: string;
  method: 'GET' | 'POST';
  rule: Rule;
  declared: Declared;
}

/** Every page and every form of the router that has a rule, in the order of the router. */
export async function listPages(): Promise<Page[]> {
  return [...(await readDeclaredAccess())].flatMap(([operation, declared]) => {
    const [method, route = ''] = operation.split(' ');
    const rule = RULES[route];
    return rule && (method === 'GET' || method === 'POST') ? [{ route, method, rule, declared }] : [];
  });
}

const REJECTIONS: Record<number, string> = { 303: 'sign in', 403: '403', 404: '404', 409: '409' };

function outcomeFor(role: RoleName, { route, method, rule, declared }: Page): string {
  const { as: visitor } = ROLES[role];
  const request = { route, rule, method, visitor };
  if (role === 'unfactored' && isSetUpFirst(`${method} ${route}`, declared, role)) return 'set up';
  const isAllowed = ownStatus(rule, visitor, method) !== undefined;
  if (!isAllowed) return REJECTIONS[expectedOf({ ...request, whose: 'own' })] ?? '404';
  if (role !== 'elsewhere' || declared.access === 'anyone') return 'yes';
  if (!namesObject(request)) return 'own';
  return REJECTIONS[expectedOf({ ...request, whose: 'other' })] ?? 'own';
}

const LEGEND: Record<string, string> = {
  yes: 'The page opens; the form is carried out if its fields are right.',
  own: 'The page shows, or the form changes, only what is the user’s own or belongs to their own business.',
  'sign in': 'The response leads to the sign-in page. Nothing is changed.',
  'set up': 'The response leads to the set-up of the second factor. Nothing is shown or changed before.',
  '403': 'The page says why the user cannot do this. Nothing is changed.',
  '404': 'For this user, the page does not exist. Nothing is changed.',
  '409': 'The form names another business. Nothing is changed.',
};

/** The page of the reference. */
export async function renderRoleMatrix(): Promise<string> {
  const roles = Object.keys(ROLES) as RoleName[];
  const titles = roles.map((role) => ROLES[role].title);
  const sections = Map.groupBy(await listPages(), ({ route }) => sectionOf(route));
  const tables = [...sections].map(([section, pages]) => {
    const rows = pages.map((page) => {
      const cells = roles.map((role) => outcomeFor(role, page));
      return row([`\`${page.method} ${page.route}\``, page.declared.access, ...cells]);
    });
    return `## ${section}\n\n${table(['page or form', 'declared', ...titles])}\n${rows.join('\n')}\n`;
  });
  return [INTRO, ...tables].join('\n');
}

function sectionOf(route: string): string {
  if (route.startsWith('/platform')) return 'The platform';
  if (route.startsWith('/businesses/')) return 'A business';
  return route.startsWith('/settings') ? 'Settings' : 'Sign-in, consent and links';
}

const row = (cells: string[]) => `| ${cells.join(' | ')} |`;
const table = (titles: string[]) => `${row(titles)}\n|${'---|'.repeat(titles.length)}`;

const INTRO = `# Who may open which page

Every page and every form of the web host, and what happens for each kind of user. The first column comes from the router, the
second is what the page declares (\`src/web/access.ts\`). Tests send each request to the real server as each of these users
(\`test/http/tenancy\`). They fail if a page has no rule, if a rule allows more than the page declares, and if a refused
request changes anything in the database or adds an entry to the audit log.

${table(['user', 'meaning'])}
${Object.values(ROLES)
  .map(({ title, meaning }) => row([title, meaning]))
  .join('\n')}

${table(['outcome', 'meaning'])}
${Object.entries(LEGEND)
  .map(([outcome, meaning]) => row([outcome, meaning]))
  .join('\n')}

Addresses and forms name objects of the business, such as its apps and members. A page can be stricter than its declaration: then
the table shows what it does. The consent page is open to anyone: it leads to the sign-in page first, and sends a user of no business
back to the app with an error. This page is written by \`npm run role-matrix\`.
`;
