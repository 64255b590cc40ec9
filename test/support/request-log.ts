import { newRandomId } from '../../src/lib/ids.ts';
import type { NewRequest } from '../../src/request-log/log.ts';

/** An entry of the request log; by default, of a failed request. */
export function requestOf(
  appId: string,
  { status = 400, ...fields }: Partial<NewRequest> & { at: number },
): NewRequest {
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
    ...fields,
  };
}
