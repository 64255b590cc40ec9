import { randomInt } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import type { Cluster } from './cluster.ts';
import type { Member } from './member.ts';

/** A fault of the primary or of a standby. */
export interface ClusterFault {
  what: string;
  /** No election has to wait until the key of a failed primary expires in etcd. */
  isShort?: boolean;
  inject(cluster: Cluster, leader: Member): Promise<void>;
}

export const FAULTS: ClusterFault[] = [
  {
    what: 'kill PostgreSQL on the primary',
    isShort: true,
    async inject(cluster, leader) {
      leader.killPostgres();
      await cluster.leaderAfter(leader);
    },
  },
  {
    what: 'kill Patroni and PostgreSQL on the primary',
    async inject(cluster, leader) {
      leader.kill();
      await cluster.leaderAfter(leader);
      await aWhile();
      leader.start();
    },
  },
  {
    what: 'freeze the primary until another is elected',
    async inject(cluster, leader) {
      leader.freeze();
      await cluster.leaderAfter(leader);
      await aWhile();
      leader.thaw();
    },
  },
  {
    what: 'cut the primary off from etcd',
    async inject(cluster, leader) {
      leader.proxies.etcd.stall();
      await cluster.leaderAfter(leader);
      await aWhile();
      leader.proxies.etcd.resume();
    },
  },
  {
    what: 'cut the primary off from etcd, its standbys and the nodes',
    async inject(cluster, leader) {
      const proxies = Object.values(leader.proxies);
      for (const proxy of proxies) proxy.stall();
      await cluster.leaderAfter(leader);
      await aWhile();
      // Delayed data arrives now, as after a network partition.
      for (const proxy of proxies) proxy.resume();
    },
  },
  {
    what: 'kill Patroni on the primary, and restart it',
    async inject(_cluster, leader) {
      leader.killPatroni();
      await aWhile();
      leader.start();
    },
  },
  {
    what: 'freeze the synchronous standby until another is chosen',
    isShort: true,
    async inject(cluster, leader) {
      const standby = await cluster.standbyOf(leader);
      standby.freeze();
      await cluster.standbyAfter(leader, standby);
      await aWhile();
      standby.thaw();
    },
  },
  {
    what: 'kill Patroni and PostgreSQL on the synchronous standby',
    async inject(cluster, leader) {
      const standby = await cluster.standbyOf(leader);
      standby.kill();
      await cluster.standbyAfter(leader, standby);
      standby.start();
    },
  },
];

/** Every fault once, in random order; then again. */
export function* drawFaults(faults: ClusterFault[]): Generator<ClusterFault, never> {
  for (;;) {
    const left = [...faults];
    while (left.length > 0) yield* left.splice(randomInt(left.length), 1);
  }
}

function aWhile(): Promise<void> {
  return setTimeout(randomInt(3000));
}
