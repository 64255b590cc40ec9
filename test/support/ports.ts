import { randomInt } from 'node:crypto';
import { createServer, type Server } from 'node:net';

/** Below the ports that outgoing connections are given, so that none of those takes one before it is used. */
const FIRST = 10_000;
const BLOCK = 40;
const BLOCKS = 550;

let block: Promise<number[]> | undefined;

/**
 * A port that no other process which asks here is given while this one lives, not even after its server was killed.
 * Of several in a row it is the first.
 */
export async function freePort(inARow = 1): Promise<number> {
  block ??= claimBlock();
  const mine = block;
  const ports = (await mine).splice(0, inARow);
  const [first] = ports;
  if (first === undefined || ports.length < inARow) {
    if (block === mine) block = undefined;
    return freePort(inARow);
  }
  const areFree = await Promise.all(ports.map(isFree));
  return areFree.every(Boolean) ? first : freePort(inARow);
}

/** The first port of a block is its flag: whoever listens there has the others. */
async function claimBlock(tries = 500): Promise<number[]> {
  const flag = FIRST + BLOCK * randomInt(BLOCKS);
  const server = await tryToListen(flag);
  if (!server && tries === 0) throw new Error('Nobody may listen on any port here.');
  if (!server) return claimBlock(tries - 1);
  server.unref();
  return Array.from({ length: BLOCK - 1 }, (_, place) => flag + 1 + place);
}

/** What a process that has ended left running may still be there. */
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
