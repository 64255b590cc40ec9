/** How Gatehouse is reached. */
export interface Connection {
  issuer: string;
  credentials: { client_id: string; client_secret: string };
  /** For each request, in milliseconds. */
  timeout: number;
  fetch: typeof fetch;
  onError: (error: Error) => void;
}

export interface ApiResponse {
  status: number;
  json: Record<string, unknown>;
  retryAfter: string | null;
}

/** Throws an error whose message contains nothing that was sent. */
export async function send(
  { issuer, timeout, fetch }: Connection,
  path: string,
  init: RequestInit,
): Promise<ApiResponse> {
  try {
    const signal = AbortSignal.timeout(timeout);
    // Secrets are sent to the issuer only.
    const response = await fetch(`${issuer}${path}`, { ...init, redirect: 'manual', signal });
    const json: unknown = await response.json().catch(() => undefined);
    signal.throwIfAborted();
    const { status, headers } = response;
    const fields = typeof json === 'object' && json !== null ? (json as Record<string, unknown>) : {};
    return { status, json: fields, retryAfter: headers.get('retry-after') };
  } catch (error) {
    throw new Error(`No response from ${issuer} (${codeOf(error)}).`);
  }
}

function codeOf(error: unknown): string {
  const { name, cause } = error as { name?: string; cause?: { code?: unknown } };
  return typeof cause?.code === 'string' ? cause.code : (name ?? 'unknown');
}
