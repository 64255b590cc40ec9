/** One thing that an attacker, a broken client or an auditor will try, and what we promise. */
export interface Item {
  id: string;
  isMandatory: boolean;
  promise: string;
  /** RFC numbers; `BCP` is RFC 9700, `2.1` the draft of OAuth 2.1, `V…` OWASP ASVS 5.0, `SW` Standard Webhooks. */
  sources: string;
}

export interface Section {
  title: string;
  items: Item[];
}

/** One line each: id, whether it is mandatory (M) or wanted (S), the promise, and where it comes from. */
const LINES = `
## Authorize endpoint
A1 M Unknown client_id: error page shown, no redirect, no Location header — 6749 §3.1.2.4, BCP 4.11.2
A2 M redirect_uri not byte-equal to a registered one: error page, never redirect — BCP 2.1/4.1.3, V10.4.1
A3 M Case, trailing slash, port, path, query, percent-encoding variants of a registered URI all fail — BCP 4.1.3
A4 M Only loopback IP redirects (127.0.0.1, [::1]) may differ in port; nothing else may — 8252 §7.3, BCP 2.1
A5 M Registration refuses http redirect URIs except loopback, and refuses fragments, userinfo, wildcards — BCP 2.6, 6749 §3.1.2, 2.1
A6 M Registration refuses javascript:, data:, vbscript:, blob:, file: in any case or with control characters — V1.2.2
A7 M Several registered URIs and redirect_uri omitted: error page, no default picked — 6749 §3.1.2.3, 2.1
A8 M Any protocol parameter sent twice gives invalid_request — 6749 §3.1, V15.3.7
A9 M Unknown parameters are ignored; empty parameters count as absent — 6749 §3.1, 2.1
A10 M response_type missing gives invalid_request; token or id_token gives unsupported_response_type — 6749 §4.1.2.1, V10.4.4
A12 M An app set to require PKCE is refused without code_challenge (invalid_request); other confidential apps may omit it — contract, BCP 2.1.1
A13 M code_challenge_method absent (means plain), plain or unknown, or challenge not 43 base64url characters: invalid_request — 7636 §4.2-4.4, V10.4.6
A14 M state returned byte-identical on success, on Deny and on every redirected error — 6749 §4.1.2, §4.1.2.1
A15 M iss returned on success and error redirects, equal to metadata issuer — 9207 §2
A16 M Query of the registered redirect URI is kept when code/state/iss are appended — 6749 §3.1.2
A17 M Scope outside the client's allowance gives invalid_scope, or a narrowed scope stated in the response — 6749 §3.3, V10.4.11
A18 M prompt=none without session: login_required; without consent: consent_required; unknown prompt values: invalid_request — contract, OIDC Core §3.1.2
A19 M prompt=login always demands fresh credentials once, then continues without looping — OIDC Core §3.1.2.1, OIDF oidcc-prompt-login
A20 M No CORS headers on the authorize endpoint, including for OPTIONS — BCP 2.6, 2.1
A21 M Redirects after a POST use 303 (302 tolerated), never 307/308 — BCP 4.12
A22 M Code has at least 128 bits from a CSPRNG (160 preferred), single use — 6749 §10.10, V11.5.1
A23 M A code used after 10 minutes gives invalid_grant, and says so — contract
## Sign-in
S1 M Session id changes at every sign-in and re-authentication; the old id stops working — V7.2.4
S2 M A session cookie planted before sign-in never becomes authenticated — V7.2.4
S3 M Cookie is __Host- prefixed, Secure, HttpOnly, SameSite=Lax, Path=/, no Domain — V3.3.1-3.3.4
S4 M Wrong password and unknown user give identical status, body and headers — V6.3.8
S5 M Median timing for unknown user within 5 % of wrong password over 200 tries — V6.3.8 (threshold ours)
S6 M Sign-in POST without a valid CSRF token, or with foreign Origin, is refused — V3.5.1, 6749 §10.12
S7 M return_to accepts only a server-side request id or an allow-listed local path — BCP 2.1, V3.7.2
S8 M return_to of //x, /\\x, /%09/x, https:x, user@x never leaves the host — BCP 4.11.1
S9 M Failures are rate-limited per account and per client address, independently — V6.1.1, V6.3.1
S10 M 100 parallel wrong passwords are counted atomically; no more than the limit are evaluated — V15.4.2, V2.4.1
S11 M Limiting never lets an attacker lock a victim out permanently — V6.1.1
S12 M X-Forwarded-For sent by a client cannot change the rate-limit key or logged address — V4.1.3, V15.3.4
S13 M Passwords 8 to 64+ characters, any Unicode, no truncation; top-3000 and breached ones refused — V6.2.1, 6.2.4, 6.2.8, 6.2.9, 6.2.12
S14 M Passwords stored with argon2id or scrypt at current parameters — V11.4.2
S15 M Idle and absolute session lifetimes enforced by the server, both documented — V7.3.1, V7.3.2
S16 M Logout, or disabling the user, ends sessions at the server; replaying the cookie fails — V7.4.1, V7.4.2
S17 M User input is shown HTML-escaped on every page, including errors — V1.1.2, 6749 §10.14
## Consent
C1 M Allow/Deny is a POST bound to session, request id, CSRF token; double submit issues one code — 6749 §10.12, V3.5.1, V2.3.3
C2 M Consent posted from another user's session or browser is refused — V10.1.2, V2.3.1
C3 M Granted values come from the stored request; form fields cannot change client, redirect or scope — V2.2.2, V15.3.3
C4 M All HTML: CSP default-src/object-src/base-uri/frame-ancestors 'none', form-action 'self' plus this request's redirect origin, X-Frame-Options DENY — BCP 4.16, V3.4.3, V3.4.6
C5 M Page names the app, its redirect host, each scope in words, and the business — V10.7.2
C6 M Deny returns access_denied with state and iss, issues nothing — 6749 §4.1.2.1, OIDF user-rejects
C7 M New or wider scope asks again; remembered consent never widens silently — V10.7.1
C9 M Referrer-Policy same-origin or no-referrer (then accept Origin: null with CSRF token); no third-party resources — BCP 4.2.4, V3.4.5
C10 M An app that the rules of a business do not allow is not granted anything, by Allow, silently or in a race with the decision of an owner; nobody approves their own request — V2.3.2, V8.2.1, V8.3.1
C11 M A blocked app loses its access to the business at once and cannot be connected again — V7.4.1, V8.3.2
C12 M Scopes that a business reserves to its owners are never granted by others — V8.2.1
## Token endpoint
T1 M Only POST; GET gives 405; credentials or tokens in the URL are never honoured — 6749 §3.2/§2.3.1, V14.2.1
T2 M Success and error responses carry Cache-Control: no-store (and Pragma: no-cache) — 6749 §5.1, 2.1, V14.3.2
T3 M Failed Basic authentication gives 401 invalid_client with WWW-Authenticate — 6749 §5.2
T4 M Basic header plus body secret together give invalid_request — 6749 §2.3
T5 M Confidential client without secret fails on code and on refresh grant alike — 6749 §3.2.1/§6, V10.4.10
T6 M Secret guessing rate-limited per client_id and address; unknown client looks like wrong secret — 6749 §2.3.1, 2.1, V11.2.4
T7 M Code issued to client A fails for client B with invalid_grant — 6749 §4.1.3, OIDF bound-to-client
T8 M redirect_uri sent at authorize must be repeated identically; mismatch gives invalid_grant — 6749 §4.1.3
T9 M Missing, wrong, short (<43) or long (>128) code_verifier gives invalid_grant or invalid_request — 7636 §4.1/4.6
T10 M code_verifier sent when no challenge was stored is refused (downgrade) — BCP 2.1.1/4.8.2
T11 M One failed verifier spends the code; no second guess possible — GHSA-jhm7-29pj-4xvf
T12 M 50 parallel redemptions of one code: exactly one 200, 49 invalid_grant, no 5xx — V10.4.2, V15.4.2
T13 M Second use of a code revokes every token issued from it — 6749 §4.1.2, V10.4.2
T14 M Refresh returns a new refresh token and the old one stops after the retry window — BCP 4.14.2, V10.4.5
T15 M 50 parallel refreshes of one token leave exactly one live refresh token in the family — BCP 4.14, V15.4.2
T16 M Retry after a lost response succeeds and returns the same successor, byte for byte — FAPI2 (rotation clause)
T17 M Old refresh token reused after its successor was used: family revoked, invalid_grant — BCP 4.14.2, V10.4.5
T18 M Two-generations-old token is never accepted, even inside the window — Auth0 rule, V10.4.5
T19 M Rotation state survives restart: a spent token stays spent — CVE-2026-9802
T20 M Refresh token bound to its client; other client gets invalid_grant — 6749 §6/§10.4
T21 M Refresh may narrow scope for the access token, never widen; refresh scope unchanged — 6749 §6
T22 M A refresh token unused for 30 days is dead — contract
T23 M Refresh after user disabled, consent revoked or client disabled fails — V7.4.2, 2.1 (grant active)
T24 M Access token, code, session id or webhook secret presented as refresh token fails — CVE-2026-4282 class
T25 M JSON values that are arrays, objects, numbers, null give 400, never 500 — V15.3.5
T26 M Duplicate JSON keys, __proto__, wrong or odd Content-Type, oversized body: clean 4xx — V15.3.6, CVE-2026-25223
T27 M Form-encoded and JSON bodies get the same responses to the same fields — 6749 §4.1.3
T28 M No token is stored: a database dump contains no usable token, secret, session or password — V6.5.2
T29 M Storage failure mid-exchange gives 5xx and leaves no half-issued state — V2.3.3, V16.5.3
## Revoke
R1 M POST only. The token alone suffices (contract); credentials, if sent, must be right: bad ones give 401 invalid_client — 7009 §2.1
R2 M Unknown, expired, already revoked token gives 200; a wrong token_type_hint still finds the token — 7009 §2.1-2.2
R3 M Token of another client is not revoked (200 or error, no disclosure) — 7009 §2.1
R4 S Revoking a refresh token kills all access tokens of the grant at once — 7009 §2.1
R5 M Storage error gives 503, never 200 — 7009 §2.2.1, CVE-2020-15223
R6 M Revoke racing a refresh: no token of the family works after both responses — V15.4.2
## Introspect
I1 M POST only, caller authenticated and rate-limited, no-store; anonymous gets 401 — 7662 §2.1/§4
I2 M Inactive, unknown and foreign tokens all get exactly {"active":false} — 7662 §2.2/§4
I3 M Client cannot read metadata of tokens issued to another client — 7662 §4, CVE-2026-58425
I4 M Revoked, expired, or disabled-user token is inactive on the very next call — 7662 §4
## Resource API (invoices)
P1 M No token: 401 with WWW-Authenticate: Bearer and no error code — 6750 §3.1
P2 M Bad, expired or revoked token: 401 error="invalid_token" — 6750 §3.1
P3 M Missing scope: 403 insufficient_scope with needed scope — 6750 §3.1, V10.3.2
P4 M Token in query string is ignored or refused; two methods at once give 400 — 6750 §2, 2.1
P5 M Refresh token, code or session cookie never works as bearer — V10.3.1
P6 M x-business-id not granted to the token: 403/404, identical for existing and non-existing businesses — V8.4.1, V8.2.2
P7 M Missing, repeated, comma-joined or malformed x-business-id gives 400, never a default tenant — V8.4.1, V15.3.7
P8 M Tenant B's invoice id under tenant A's header gives 404 on every verb; lists and counts too — V8.2.2, V8.4.1
P9 M business id in body or path that disagrees with the header is refused — CVE-2026-15630 class, V2.2.3
P10 M Removing a user from a business takes effect on the next request — V8.3.2
P11 M Unknown or read-only fields in writes are refused or ignored, never stored — V15.3.3
P12 M CORS never reflects arbitrary Origin with credentials — V3.4.2
## Dashboard
D1 M Every state change is non-GET with CSRF token or strict Origin/Sec-Fetch check — V3.5.1, V3.5.3
D2 M Users see and revoke their grants; tokens of that grant die at once — V10.4.9, V10.7.3
D3 M Password/e-mail change demands current password; users can list and end their other sessions — V6.2.3, V7.4.3, V7.5.1-7.5.2
D4 M Client secret shown once, never again; rotation leaves an overlap and is logged — V13.3.4, BCP 2.5
D5 M Direct object ids of another tenant (client, webhook, grant) give 404 — V8.2.2
D6 M Pages host and API host share no cookies; API ignores cookies — V3.5.4
D7 M HSTS ≥1 year with includeSubDomains; API does not redirect http to https — V3.4.1, V4.1.2
## Webhooks out
W1 M webhook-id, webhook-timestamp, webhook-signature over id.timestamp.body, HMAC-SHA256, v1 prefix — SW
W2 M Secret 24-64 random bytes, whsec_ prefix, unique per endpoint; rotation signs with both — SW
W3 M Same webhook-id on retries, fresh timestamp, backoff with jitter over days; 410 disables — SW
W4 M Private, loopback, link-local, metadata, CGNAT, mapped-IPv6 addresses refused at connect time — V1.3.6, SW
W5 M DNS answer changing between check and connect cannot reach internal hosts — V1.3.6
W6 M Redirects not followed; 15-30 s timeout; body capped; response never shown to tenants — V15.3.2, SW
W7 M Event committed with its business change survives kill -9; delivered at least once — V2.3.3
## Cross-cutting
X1 M /.well-known/oauth-authorization-server issuer is https, no query or fragment, equals iss — 8414 §2-3, 9207
X2 M Metadata lists S256 only, iss support, real auth methods and endpoints — BCP 2.1.1, 9207 §3
X3 M Host and X-Forwarded-Host never change issuer, links or redirects — GHSA-2wmj-46rj-qm2w, V4.1.3
X4 M Logs and error pages hold no code, token, secret, password, cookie, stack; CR/LF cannot forge lines — V16.2.5, V16.4.1, V16.5.1
X5 M 100 000 mutated requests yield zero 5xx, hangs or crashes — V16.5.3/4 (number ours)
X6 M Shipped build has SQLite ≥ 3.51.3 (WAL-reset corruption fix) and Fastify ≥ 5.12.1 — sqlite.org/changes.html, fastify advisories
X7 M A wrong clock (days or weeks off, then right again) destroys no grant or session and revives nothing that was revoked — own
X8 M A full or stalled disk under the log or the database never freezes the process: health checks succeed, reads continue or get 503 in seconds — own
X9 M No signed-in user can make rows that are kept for ever faster than a stated rate, and no search of one tenant delays another — V2.4.1, own tests
X10 M Everything that is executed, the runtime included, is pinned by a hash in the lock file — V15.1, SLSA
## Accounts and recovery
E1 M Any password reset removes passkeys, known browsers, second factors in question and sessions, and offers to end grants — V6.4.3, pre-hijacking (Sudhodanan, Paverd 2022)
E2 M An address that was never proven cannot join another tenant by signing in alone; invitations are bound to one address — same
E3 M Addresses that look alike (invisible, bidirectional, full-width, confusable) cannot be two accounts — CVE-2026-15617, UTS 39
E4 M Reset and verification links work once, expire, are bound to the account's present address, and end when a newer one is made — V6.4.2
E5 M A second factor cannot be skipped, replayed, guessed or removed without it or a recovery code; a required one holds for every way to sign in — V6.3, V6.5
E6 M Whether an account exists cannot be learned from sign-in, reset or invitation, by text or by time — V6.3.8
## Agents and registered clients
G1 M A client metadata document is fetched only from public addresses, within limits, and never followed elsewhere; its client_id equals its URL — CIMD draft, W4, W5
G2 M A token works only at the resource it was requested for — RFC 8707, RFC 9728, MCP
G3 M Clients that register themselves are never first-party, always ask, and leave no row before Allow — RFC 7591 A.5.2
G4 M Every tool checks scope and business like the endpoint it stands for; an Origin that is not ours is refused at the MCP endpoint — MCP 2026-07-28
G5 M An app that nobody registered here gets a redirect only after a click on a page that names where it leads, or if this user has allowed it before — BCP 4.11.2
`;

export const CHECKLIST: Section[] = LINES.split(/^## /m)
  .slice(1)
  .map((part) => {
    const [title = '', ...lines] = part.trim().split('\n');
    return { title, items: lines.map(readItem) };
  });

export const ITEMS: Item[] = CHECKLIST.flatMap(({ items }) => items);

function readItem(line: string): Item {
  const [, id, weight, promise = '', sources = ''] = /^([A-Z]\d+) ([MS]) (.+) — (.+)$/.exec(line) ?? [];
  if (!id) throw new Error(`This line of the checklist cannot be read: ${line}`);
  return { id, isMandatory: weight === 'M', promise, sources };
}
