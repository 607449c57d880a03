import { EventEmitter } from 'node:events';
import type { Redis } from 'ioredis';
import { expect, it } from 'vitest';
import { createRedisGuard } from './redis-guard.ts';

/** A server whose first answers come too late. */
function busyServer(late: number) {
  const asked = { times: 0 };
  const node = Object.assign(new EventEmitter(), {
    status: 'ready',
    async select() {
      asked.times += 1;
      if (asked.times <= late) throw new Error('Command timed out');
      return 'OK';
    },
    config: async () => ['maxmemory-policy', 'noeviction'],
  });
  return { node: node as unknown as Redis & EventEmitter, asked };
}

it('a server that does not answer in time which database it is in is asked again', async () => {
  const { node, asked } = busyServer(2);
  const guard = createRedisGuard(3, undefined);
  guard.watch(node);
  node.emit('connect');
  node.emit('ready');
  await expect.poll(() => guard.knows(node)).toBe(true);
  expect(guard.awaitsDatabase()).toBe(true);
  await expect.poll(() => guard.awaitsDatabase()).toBe(false);
  expect(asked.times).toBe(3);
  expect(guard.refusal()).toBeUndefined();
});

it('a server is not asked for a connection that is lost', async () => {
  const { node, asked } = busyServer(Infinity);
  const guard = createRedisGuard(3, undefined);
  guard.watch(node);
  node.emit('connect');
  node.emit('ready');
  await expect.poll(() => asked.times).toBeGreaterThan(0);
  node.emit('connect');
  const before = asked.times;
  await new Promise((resolve) => setTimeout(resolve, 600));
  expect(asked.times).toBe(before);
  expect(guard.awaitsDatabase()).toBe(true);
});
