import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { Worker } from 'node:worker_threads';
import { afterEach, expect, it } from 'vitest';
import { SilenceTimer } from './silence-timer.ts';

const silenceMs = 300;
const closing: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** Blocks the event loop. */
function block(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}

/** A socket on which a thread of its own, which no block of this one delays, writes every `everyMs`. */
async function listen(everyMs: number): Promise<Socket> {
  const server: Server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  const worker = new Worker(
    `const { workerData: { port, everyMs } } = require('node:worker_threads');
     const socket = require('node:net').connect(port, '127.0.0.1');
     socket.on('error', () => undefined);
     setInterval(() => socket.write('.'), everyMs);`,
    { eval: true, workerData: { port, everyMs } },
  );
  const [socket] = (await once(server, 'connection')) as [Socket];
  closing.push(
    () => worker.terminate(),
    () => socket.destroy(),
    () => server.close(),
  );
  return socket;
}

it('does not take a blocked event loop for a silent peer, however long and often it is blocked', async () => {
  const socket = await listen(20);
  let silent = false;
  const timer = new SilenceTimer(silenceMs, () => (silent = true));
  closing.push(() => timer.stop());
  socket.on('data', () => timer.heard());
  await once(socket, 'data');
  for (let time = 0; time < 3; time += 1) {
    block(silenceMs * 2);
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
  expect(silent).toBe(false);
});

it('notices a peer that has gone silent, also when the event loop is blocked again and again', async () => {
  const peer = createServer().listen(0, '127.0.0.1');
  await once(peer, 'listening');
  const address = peer.address();
  const socket = connect(typeof address === 'object' ? (address?.port ?? 0) : 0, '127.0.0.1');
  closing.push(
    () => socket.destroy(),
    () => peer.close(),
  );
  let calls = 0;
  const timer = new SilenceTimer(silenceMs, () => (calls += 1));
  closing.push(() => timer.stop());
  socket.on('data', () => timer.heard());
  for (let time = 0; calls === 0 && time < 100; time += 1) {
    block(50);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  await new Promise((resolve) => setTimeout(resolve, silenceMs));
  expect(calls).toBe(1);
});

it('counts from what was heard last, and says nothing once it is stopped', async () => {
  let silent = false;
  const timer = new SilenceTimer(silenceMs, () => (silent = true));
  for (let time = 0; time < 12; time += 1) {
    await new Promise((resolve) => setTimeout(resolve, silenceMs / 12));
    timer.heard();
  }
  expect(silent).toBe(false);
  timer.stop();
  await new Promise((resolve) => setTimeout(resolve, silenceMs * 2));
  expect(silent).toBe(false);
});
