import { newRandomId } from '../../src/lib/ids.ts';
import type { NewRequest } from '../../src/request-log/log.ts';

/** A logged request that failed, unless told otherwise. */
export function requestOf(appId: string, { status = 400, ...given }: Partial<NewRequest> & { at: number }): NewRequest {
  return {
    appId,
    method: 'POST',
    route: '/api/v1/oauth/token',
    grantType: 'authorization_code',
    status,
    reason: status < 400 ? null : 'refresh_token_reused',
    requestId: newRandomId(),
    businessId: null,
    took: 12,
    ...given,
  };
}
