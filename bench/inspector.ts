/** A client of the Chrome DevTools protocol. */
export interface Inspector {
  send(method: string, params?: object): Promise<unknown>;
  close(): void;
}

export async function attach(port: number): Promise<Inspector> {
  const [target] = (await (await fetch(`http://127.0.0.1:${port}/json/list`)).json()) as InspectorTarget[];
  const socket = new WebSocket(target?.webSocketDebuggerUrl ?? '');
  const pending = new Map<number, (result: unknown) => void>();
  socket.addEventListener('message', ({ data }) => {
    const { id, result } = JSON.parse(String(data));
    pending.get(id)?.(result);
    pending.delete(id);
  });
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve);
    socket.addEventListener('error', reject);
  });
  let lastId = 0;
  return {
    send(method, params = {}) {
      lastId += 1;
      socket.send(JSON.stringify({ id: lastId, method, params }));
      return new Promise((resolve) => pending.set(lastId, resolve));
    },
    close: () => socket.close(),
  };
}

interface InspectorTarget {
  webSocketDebuggerUrl: string;
}
