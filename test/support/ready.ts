/** Whether the URL responds with 200, within a second. */
export async function isReady(url: string): Promise<boolean> {
  return fetch(url, { signal: AbortSignal.timeout(1000) }).then(
    ({ status }) => status === 200,
    () => false,
  );
}
