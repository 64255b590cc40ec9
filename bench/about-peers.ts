interface AboutPeer {
  title: string;
  text: string;
  /** Described only if this contender was measured. */
  contender?: string;
}

/** What each peer offers that Gatehouse does not, according to its documentation. */
export const ABOUT_PEERS: AboutPeer[] = [
  {
    title: '`oidc-provider`',
    text: `A certified OpenID Connect provider, which supports far more standards: ID tokens, discovery and dynamic client
registration, the device flow, pushed and signed authorization requests (RFC 9126, RFC 9101), sender-constrained tokens by DPoP
and mutual TLS, resource indicators, JWT access tokens and introspection responses, logout at the provider and through the back
channel, and the FAPI profiles. Gatehouse has none of these. It is a library: storage, users, sign-in and consent pages are
up to the application. It runs here twice: with an adapter for PostgreSQL
(\`bench/peers/oidc-adapter.ts\`, one table and prepared statements) that stores apps and users, too, as a platform does, and with its built-in adapter, which stores a thousand entries in memory and loses them at a restart;
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
    title: 'Ory Hydra',
    contender: 'hydra',
    text: `A certified OpenID Connect provider, a program in Go: ID tokens, discovery and dynamic client registration, the device flow,
client credentials, JWT access tokens, JWT bearer grants, pairwise subjects, logout at the provider and through both channels. Gatehouse has none
of these. It has no users and no pages: its operator writes an app that signs users in and asks for consent, through its admin API. Here
that is \`bench/peers/hydra-pages.ts\`, a process on the same core, which every flow passes through, since Hydra redirects to it
even if it remembers the user and the consent. It runs on its own database of the same PostgreSQL, with opaque tokens, and with one round of PBKDF2 for
the secret of the app instead of its default of 25,000, which would take most of the time.`,
  },
  {
    title: 'Keycloak',
    contender: 'keycloak',
    text: `A server for identity and access, in Java: OpenID Connect and SAML, users with social sign-in, LDAP and Kerberos,
roles and fine-grained authorization, several realms in one server, an admin console, the device flow, pushed authorization requests, CIBA, DPoP and mutual TLS, and the FAPI profiles.
Gatehouse has none of these. Its access and refresh tokens are JWTs, which it signs at each request. It runs here as one node with local caches, its sessions in
its own database of the same PostgreSQL (its default), rotating refresh tokens, and consent for the app. Users sign in and allow the app by its
forms, outside of the measured time. Its virtual machine compiles hot code for longer than the warm-up of these runs.`,
  },
  {
    title: 'The bare server',
    text: `Not a peer but the limit: \`node:http\` and \`node:sqlite\`, the same statements on the same schema, shared commits of the
same durability, the same MACs and hashes, and nothing else. It checks no field, counts no request, keeps no log and explains no error.
A test compares its statements with those of Gatehouse. It handles each request as it arrives; Gatehouse batches the reads of one iteration of the
event loop (docs/decisions/0016), which would speed up the bare server, too.`,
  },
];
