// Preloaded into a server: sends SIGTERM to the main process as soon as its first listener is open.
import cluster from 'node:cluster';
import { Server } from 'node:net';

const { listen } = Server.prototype;
let isSent = cluster.isWorker;

Server.prototype.listen = function (this: Server, ...args: unknown[]) {
  this.once('listening', () => {
    if (isSent) return;
    isSent = true;
    process.kill(process.pid, 'SIGTERM');
  });
  return Reflect.apply(listen, this, args);
} as typeof listen;
