/** A process that lets itself be inspected, spoken to over the protocol of Chrome's developer tools. */
export interface Inspector {
  ask(method: string, params?: object): Promise<unknown>;
  leave(): void;
}

export async function attach(port: number): Promise<Inspector> {
  const [target] = (await (await fetch(`http://127.0.0.1:${port}/json/list`)).json()) as TargetOfInspector[];
  const socket = new WebSocket(target?.webSocketDebuggerUrl ?? '');
  const waiting = new Map<number, (result: unknown) => void>();
  socket.addEventListener('message', ({ data }) => {
    const { id, result } = JSON.parse(String(data));
    waiting.get(id)?.(result);
    waiting.delete(id);
  });
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve);
    socket.addEventListener('error', reject);
  });
  let asked = 0;
  return {
    ask(method, params = {}) {
      asked += 1;
      socket.send(JSON.stringify({ id: asked, method, params }));
      return new Promise((resolve) => waiting.set(asked, resolve));
    },
    leave: () => socket.close(),
  };
}

interface TargetOfInspector {
  webSocketDebuggerUrl: string;
}
