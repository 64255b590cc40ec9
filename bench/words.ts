/** What each peer does that Gatehouse does not, after its own documentation. Numbers alone would be half the truth. */
export const ABOUT_PEERS: { title: string; text: string }[] = [
  {
    title: '`oidc-provider`',
    text: `A certified OpenID Connect provider, and far wider in what it speaks: ID tokens, discovery and dynamic client
registration, the device flow, pushed and signed authorization requests (RFC 9126, RFC 9101), sender-constrained tokens by DPoP
and mutual TLS, resource indicators, JWT access tokens and introspection answers, logout at the provider and through the back
channel, and the FAPI profiles. Gatehouse has none of these. It is a library: storage, users, sign-in and consent pages are its
owner's to bring. It runs here on the adapter that it comes with, which keeps a thousand things in memory and loses them at a restart;
its documentation keeps that for development. A database behind it would make it slower. In the call and in the whole flow it also
signs an ID token (ES256), since its userinfo needs the \`openid\` scope; in the other scenarios it is spared that.`,
  },
  {
    title: '`@jmondi/oauth2-server`',
    text: `A library of OAuth grants for any framework, with more of them than Gatehouse has: client credentials, password, implicit and
token exchange (RFC 8693). Its access tokens are JWTs, which another service can verify without asking anyone, and its owner decides
what is in them. Storage, users, sign-in and consent are not its business. Here its repositories are maps in memory, the user is
named by a cookie that nobody signed, and nothing survives a restart.`,
  },
  {
    title: '`better-auth`',
    text: `A whole framework for signing people in, of which the OAuth provider is one plug-in: email and password, social sign-in, two
factors, organizations, a client library for every front end, and adapters for many databases. The plug-in speaks OpenID Connect with
signed ID tokens, dynamic client registration, client credentials, the device flow, DPoP, \`private_key_jwt\` and JWT access tokens for named resources.
Gatehouse has none of these. It runs here on SQLite, as Gatehouse does, with the session cached in its cookie and the app
in memory, and its answers do not wait for the disk; those of Gatehouse do wherever something was allowed, exchanged or revoked.`,
  },
  {
    title: 'The bare server',
    text: `No peer but the limit: \`node:http\` and \`node:sqlite\`, the same statements on a database of the same making, shared commits of the
same durability, the same MACs and hashes, and nothing else. It checks no field, counts no request, keeps no log and explains no refusal.
A test holds its statements to those that Gatehouse executes. It answers each request as it comes; Gatehouse gathers what is read in one turn of the
event loop (docs/decisions/0016), from which the bare server would gain, too.`,
  },
];
