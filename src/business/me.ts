import { Type } from 'typebox';
import { findBusiness } from '../accounts/businesses.ts';
import { findUser } from '../accounts/users.ts';
import { findApp } from '../apps/apps.ts';
import { explain } from '../grants/inactive-reasons.ts';
import { invalidToken } from '../oauth/bearer.ts';
import type { ProtectedEndpoint } from './protected-endpoint.ts';

const idOf = (description: string) => Type.String({ format: 'uuid', description });
const nameOf = (description: string, example: string) => Type.String({ description, examples: [example] });

const ME = Type.Object(
  {
    user: Type.Object(
      {
        id: idOf('Never changes. Equal to `sub` at introspection.'),
        name: nameOf('The name that the user chose.', 'Ada Lovelace'),
        email: nameOf('The address that the user signs in with. It can change.', 'ada@example.com'),
        emailVerified: Type.Boolean({
          description:
            'Whether the address is known to be the user’s. If not, do not connect them to an account by it: use `id`.',
        }),
      },
      {
        description: 'The user who allowed the app. For a business connection this can change.',
      },
    ),
    business: Type.Object(
      { id: idOf('Goes into `x-business-id`.'), name: nameOf('The name of the business.', 'Harbour Coffee') },
      { description: 'The one business that the token acts in.' },
    ),
    app: Type.Object(
      { id: idOf('The `client_id`.'), name: nameOf('The name that users see.', 'Ledgerly') },
      { description: 'The app that the token was issued to.' },
    ),
    scopes: Type.Array(Type.String(), { description: 'The scopes of this access token.' }),
    connectedFor: Type.String({
      description: '`business` if the connection outlives the membership of the user, otherwise `user`.',
      examples: ['user'],
    }),
    grantedAt: Type.String({
      format: 'date-time',
      description: 'When the user allowed the app, or took the connection over.',
    }),
  },
  { description: 'The user, business and app of an access token.' },
);

export const meEndpoint: ProtectedEndpoint = {
  method: 'GET',
  path: '/api/v1/me',
  scope: null,
  operationId: 'me',
  tool: 'get_me',
  summary: 'Read the user’s profile',
  description:
    'The user, business and app that the access token belongs to, for clients that expect a profile or userinfo endpoint.',
  response: {
    description: 'The user, business and app of the token.',
    name: 'Me',
    schema: ME,
    example: {
      user: {
        id: '0190b9a1-6f2b-7a11-8f00-5d1c2b3a4f60',
        name: 'Ada Lovelace',
        email: 'ada@example.com',
        emailVerified: true,
      },
      business: { id: '0190b9a1-5e1a-7b22-9c33-1a2b3c4d5e6f', name: 'Harbour Coffee' },
      app: { id: '0190b9a0-1111-7aaa-8bbb-2c3d4e5f6a7b', name: 'Ledgerly' },
      scopes: ['read:invoices'],
      connectedFor: 'user',
      grantedAt: '2026-07-15T09:30:00.000Z',
    },
  },
  async handle({ db, access }) {
    const [user, business, app] = await Promise.all([
      findUser(db, access.userId),
      findBusiness(db, access.businessId),
      findApp(db, access.appId),
    ]);
    // The app may have been deleted since the token was checked. Users and businesses are never deleted.
    if (!user || !business || !app) throw invalidToken('app_deleted', explain('app_deleted'));
    const body = {
      user: { id: user.id, name: user.name, email: user.email, emailVerified: user.emailVerifiedAt !== null },
      business: { id: business.id, name: business.name },
      app: { id: app.id, name: app.name },
      scopes: access.scopes,
      connectedFor: access.connectedFor,
      grantedAt: new Date(access.grantedAt).toISOString(),
    };
    return { body };
  },
};
