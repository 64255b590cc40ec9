import type { ApiResponse } from '../../support/client.ts';

/** How the server is made to give one answer that its reference says it can give. */
export interface Provocation {
  operation: string;
  status: number;
  /** `page` where people are refused, who have no use for a name; `none` where nothing is. */
  reason: string;
  /** What the operation is answering. */
  to: string;
  provoke(): Promise<ApiResponse>;
}

export function reasonOf({ status, body }: ApiResponse): string {
  if (status < 400) return 'none';
  return typeof body === 'string' ? 'page' : String(body.reason);
}

/** One request, as it stands. */
export async function send(url: string, init: RequestInit = {}): Promise<ApiResponse> {
  const response = await fetch(url, { redirect: 'manual', ...init });
  const { status, headers } = response;
  const text = await response.text();
  return { status, headers, body: headers.get('content-type')?.includes('json') ? JSON.parse(text) : text };
}

/** The name and the table of one operation, made into provocations. */
export function provocationsOf(
  operation: string,
  table: [status: number, reason: string, to: string, provoke: () => Promise<ApiResponse>][],
): Provocation[] {
  return table.map(([status, reason, to, provoke]) => ({ operation, status, reason, to, provoke }));
}

export function once<Value>(make: () => Promise<Value>): () => Promise<Value> {
  let made: Promise<Value> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
