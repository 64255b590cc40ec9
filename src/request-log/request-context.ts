/** What a request turned out to be about. It is filled in on the way, since a refusal may end that way anywhere. */
export interface RequestContext {
  appId?: string;
  userId?: string;
  businessId?: string;
  /** By which it was let read something. */
  scope?: string;
  /** At the token endpoint. */
  grantType?: string;
  /** At a code exchange: whether the app sent a code_verifier. */
  usedPkce?: boolean;
}
