import type { DEMO_USERS } from '../../demo/data.ts';

export interface Picture {
  name: string;
  url: string;
  /** The signed-in user; none by default. */
  as?: keyof typeof DEMO_USERS;
  /** The sizes of its pictures in docs/pictures, each in both themes; none by default. */
  kept?: readonly Size[];
}

type Size = 'desktop' | 'phone';

const DESKTOP: readonly Size[] = ['desktop'];
const BOTH: readonly Size[] = ['desktop', 'phone'];

interface Known {
  api: string;
  web: string;
  /** Apps, by name. */
  ledgerly: string;
  parcelwise: string;
  /** What belongs to Parcelwise. */
  request: string;
  endpoint: string;
  delivery: string;
  northgate: string;
  /** Users. */
  owner: string;
  member: string;
}

/** Pages with a URL, and the user who opens each. */
export function listPictures(known: Known): Picture[] {
  return [...publicPictures(known), ...ownerPictures(known), ...developerPictures(known), ...platformPictures(known)];
}

function publicPictures({ api, web, ledgerly }: Known): Picture[] {
  const request = new URLSearchParams({
    response_type: 'code',
    client_id: ledgerly,
    redirect_uri: 'http://127.0.0.1:4702/callback',
    scope: 'read:invoices read:contacts',
    optional_scope: 'read:contacts',
    state: 'picture',
    code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    code_challenge_method: 'S256',
  });
  const wrong = new URLSearchParams({ client_id: ledgerly, redirect_uri: 'https://elsewhere.example/callback' });
  return [
    { name: 'app-error', url: `${api}/api/v1/oauth/authorize?${wrong}` },
    { name: 'sign-in', url: `${web}/sign-in`, kept: ['phone'] },
    { name: 'reference', url: `${api}/docs`, kept: DESKTOP },
    { name: 'error', url: `${api}/docs/errors/invalid_grant`, kept: DESKTOP },
    { name: 'consent', url: `${api}/api/v1/oauth/authorize?${request}`, as: 'member', kept: BOTH },
    { name: 'own-apps', url: `${web}/settings/connected-apps`, as: 'member', kept: ['phone'] },
  ];
}

function ownerPictures({ web, parcelwise, member, owner }: Known): Picture[] {
  const settings = `${web}/settings`;
  const connection = `${settings}/connected-apps/${parcelwise}/${member}`;
  const pages: Record<string, string> = {
    'disconnect-app': `${connection}/disconnect`,
    'narrow-app': `${connection}/permissions`,
    member: `${settings}/members/${member}`,
    'remove-member': `${settings}/members/${member}/remove`,
    leave: `${settings}/members/${owner}/remove`,
    invite: `${settings}/members/invite`,
    invitations: `${settings}/members/invitations`,
    business: `${settings}/business`,
    'block-app': `${settings}/business/apps/${parcelwise}/block`,
    address: `${settings}/address`,
    'two-step': `${settings}/two-step`,
    'delete-account': `${settings}/delete-account`,
  };
  const kept: Record<string, string> = {
    'connected-apps': `${settings}/connected-apps`,
    'connected-app': connection,
    'connect-assistant': `${settings}/connected-apps/assistant`,
    'app-rules': `${settings}/business/apps`,
    members: `${settings}/members`,
    'audit-log': `${settings}/audit-log`,
  };
  return [...toPictures(kept, { as: 'owner', kept: DESKTOP }), ...toPictures(pages, { as: 'owner' })];
}

function developerPictures({ web, ledgerly, parcelwise, request, endpoint, delivery }: Known): Picture[] {
  const developer = `${web}/settings/developer`;
  const kept: Record<string, string> = {
    'new-app': `${developer}/new`,
    app: `${developer}/${ledgerly}`,
    requests: `${developer}/${parcelwise}/requests`,
    request: `${developer}/${parcelwise}/requests/${request}`,
    connections: `${developer}/${parcelwise}/connections`,
    endpoint: `${developer}/${parcelwise}/endpoints/${endpoint}`,
    delivery: `${developer}/${parcelwise}/endpoints/${endpoint}/deliveries/${delivery}`,
    'try-it': `${developer}/${ledgerly}/try`,
    account: `${web}/settings/account`,
  };
  const pages: Record<string, string> = {
    developer,
    'app-identity': `${developer}/${ledgerly}/identity`,
    'delete-app': `${developer}/${ledgerly}/delete`,
    endpoints: `${developer}/${parcelwise}/endpoints`,
    'no-endpoints': `${developer}/${ledgerly}/endpoints`,
    'new-endpoint': `${developer}/${parcelwise}/endpoints/new`,
    'member-of-developer': `${web}/settings/members`,
  };
  return [...toPictures(kept, { as: 'admin', kept: DESKTOP }), ...toPictures(pages, { as: 'admin' })];
}

function platformPictures({ web, ledgerly, parcelwise, member, northgate }: Known): Picture[] {
  const platform = `${web}/platform`;
  const pages: Record<string, string> = {
    'platform-app': `${platform}/apps/${ledgerly}`,
    'platform-first-party': `${platform}/developer/apps`,
    'platform-businesses': `${platform}/businesses`,
    'platform-business': `${platform}/businesses/${northgate}`,
    'platform-users': `${platform}/users`,
    'platform-user': `${platform}/users/${member}`,
    'platform-disable': `${platform}/users/${member}/disable`,
    'platform-settings': `${platform}/settings`,
    'platform-audit-log': `${platform}/audit-log`,
  };
  const kept = { platform: `${platform}/apps`, 'platform-pause': `${platform}/apps/${parcelwise}/pause` };
  return [...toPictures(kept, { as: 'admin', kept: DESKTOP }), ...toPictures(pages, { as: 'admin' })];
}

function toPictures(pages: Record<string, string>, about: Pick<Picture, 'as' | 'kept'>): Picture[] {
  return Object.entries(pages).map(([name, url]) => ({ name, url, ...about }));
}
