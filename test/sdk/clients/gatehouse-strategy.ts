import OAuth2Strategy from 'passport-oauth2';

export interface Account {
  id: string;
  business: { id: string; name: string };
  accessToken: string;
  refreshToken: string;
}

export interface Registration {
  api: string;
  clientID: string;
  clientSecret: string;
  callbackURL: string;
  scope?: string;
  customHeaders?: Record<string, string>;
}

type Renewed = Pick<Account, 'accessToken' | 'refreshToken'>;

/** The subclass that passport-oauth2 needs for a provider, with its URLs and profile. */
export class GatehouseStrategy extends OAuth2Strategy {
  // Passport calls a copy made with Object.create, which has no #private fields.
  protected readonly api: string;

  constructor({ api, scope = 'read:invoices', ...rest }: Registration, keep: (account: Account) => void) {
    const authorizationURL = `${api}/api/v1/oauth/authorize`;
    const options = {
      ...rest,
      authorizationURL,
      tokenURL: `${api}/api/v1/oauth/token`,
      scope,
      state: true,
      pkce: true,
    };
    const verify: OAuth2Strategy.VerifyFunction = (
      accessToken: string,
      refreshToken: string,
      profile: Account['business'],
      done: OAuth2Strategy.VerifyCallback,
    ) => {
      const account = { id: `member-of-${profile.id}`, business: profile, accessToken, refreshToken };
      keep(account);
      done(null, account);
    };
    super(options, verify);
    this.name = 'gatehouse';
    this.api = api;
    this._oauth2.useAuthorizationHeaderforGET(true);
  }

  override userProfile(accessToken: string, done: (error?: unknown, profile?: unknown) => void): void {
    this._oauth2.get(`${this.api}/api/v1/businesses`, accessToken, (error, body) => {
      if (error) return done(readError(this, error));
      return done(null, JSON.parse(String(body))[0]);
    });
  }

  renew(refreshToken: string): Promise<Renewed> {
    const request = { grant_type: 'refresh_token' };
    return new Promise((resolve, reject) => {
      this._oauth2.getOAuthAccessToken(refreshToken, request, (error, accessToken = '', newer = '') => {
        if (error) reject(readError(this, error));
        else resolve({ accessToken, refreshToken: newer });
      });
    });
  }
}

/** The response as Passport reads it; or the error without one. */
function readError(strategy: OAuth2Strategy, failure: Error | { statusCode: number; data?: unknown }): Error {
  if (failure instanceof Error) return failure;
  const { data, statusCode } = failure;
  return strategy.parseErrorResponse(data, statusCode) ?? new Error(`Gatehouse responded with ${statusCode}.`);
}
