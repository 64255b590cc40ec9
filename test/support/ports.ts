import { randomInt } from 'node:crypto';
import { createServer, type Server } from 'node:net';

/** Below the ephemeral ports, so that no outgoing connection takes one. */
const FIRST = 10_000;
const BLOCK = 40;
const BLOCKS = 550;

let block: Promise<number[]> | undefined;

/**
 * A port that no other test process gets while this one runs, even after the server on it was killed.
 * With `consecutive`, the first of that many consecutive ports.
 */
export async function freePort(consecutive = 1): Promise<number> {
  block ??= claimBlock();
  const mine = block;
  const ports = (await mine).splice(0, consecutive);
  const [first] = ports;
  if (first === undefined || ports.length < consecutive) {
    if (block === mine) block = undefined;
    return freePort(consecutive);
  }
  const areFree = await Promise.all(ports.map(isFree));
  return areFree.every(Boolean) ? first : freePort(consecutive);
}

/** The process that listens on the first port of a block owns the others. */
async function claimBlock(tries = 500): Promise<number[]> {
  const flag = FIRST + BLOCK * randomInt(BLOCKS);
  const server = await tryToListen(flag);
  if (!server && tries === 0) throw new Error('No free block of ports.');
  if (!server) return claimBlock(tries - 1);
  server.unref();
  return Array.from({ length: BLOCK - 1 }, (_, i) => flag + 1 + i);
}

/** A server of a process that has exited may still listen. */
async function isFree(port: number): Promise<boolean> {
  const server = await tryToListen(port);
  await server?.[Symbol.asyncDispose]();
  return server !== undefined;
}

function tryToListen(port: number): Promise<Server | undefined> {
  return new Promise((resolve) => {
    const server = createServer().once('error', () => resolve(undefined));
    server.listen(port, '127.0.0.1', () => resolve(server));
  });
}
