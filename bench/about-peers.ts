/** What each peer offers that Gatehouse does not, according to its documentation. */
export const ABOUT_PEERS: { title: string; text: string }[] = [
  {
    title: '`oidc-provider`',
    text: `A certified OpenID Connect provider, which supports far more standards: ID tokens, discovery and dynamic client
registration, the device flow, pushed and signed authorization requests (RFC 9126, RFC 9101), sender-constrained tokens by DPoP
and mutual TLS, resource indicators, JWT access tokens and introspection responses, logout at the provider and through the back
channel, and the FAPI profiles. Gatehouse has none of these. It is a library: storage, users, sign-in and consent pages are
up to the application. It runs here twice: with an adapter for PostgreSQL
(\`bench/peers/oidc-adapter.ts\`, one table and prepared statements), and with its built-in adapter, which stores a thousand entries in memory and loses them at a restart;
its documentation recommends that for development only. In the call and in the whole flow it also
signs an ID token (ES256), since its userinfo needs the \`openid\` scope; in the other scenarios it does not.`,
  },
  {
    title: '`@jmondi/oauth2-server`',
    text: `A library of OAuth grants for any framework, with more of them than Gatehouse has: client credentials, password, implicit and
token exchange (RFC 8693). Its access tokens are JWTs, which another service can verify without a network call, and the application decides
what is in them. Storage, users, sign-in and consent are up to the application. Here its repositories are maps in memory, the user is
identified by an unsigned cookie, and nothing survives a restart.`,
  },
  {
    title: '`better-auth`',
    text: `A framework for authentication, of which the OAuth provider is one plug-in: email and password, social sign-in, two
factors, organizations, a client library for every front end, and adapters for many databases. The plug-in supports OpenID Connect with
signed ID tokens, dynamic client registration, client credentials, the device flow, DPoP, \`private_key_jwt\` and JWT access tokens for named resources.
Gatehouse has none of these. It runs here on PostgreSQL and on SQLite, as Gatehouse does, with the session cached in its cookie and the app
in memory; on SQLite its responses do not wait for the disk, those of Gatehouse do after consent, exchange and revocation.`,
  },
  {
    title: 'The bare server',
    text: `Not a peer but the limit: \`node:http\` and \`node:sqlite\`, the same statements on the same schema, shared commits of the
same durability, the same MACs and hashes, and nothing else. It checks no field, counts no request, keeps no log and explains no error.
A test compares its statements with those of Gatehouse. It handles each request as it arrives; Gatehouse batches the reads of one iteration of the
event loop (docs/decisions/0016), which would speed up the bare server, too.`,
  },
];
