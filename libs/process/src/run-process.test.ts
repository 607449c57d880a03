import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { bareEnvironment } from '@tessera/test-kit/provision';
import { afterEach, describe, expect, it } from 'vitest';
import { failpoints } from './failpoints.ts';

const program = fileURLToPath(new URL('./testing/sample-process.ts', import.meta.url));

interface Sample {
  readonly process: ChildProcess;
  readonly exit: Promise<{ code: number | null; signal: string | null }>;
  out(): string;
  err(): string;
  port(): Promise<number>;
}

const running: ChildProcess[] = [];
afterEach(() => {
  for (const child of running.splice(0)) child.kill('SIGKILL');
});

function start(environment: Record<string, string>): Sample {
  const child = spawn(process.execPath, [program], { env: { ...bareEnvironment(), ...environment } });
  running.push(child);
  let out = '';
  let err = '';
  child.stdout.on('data', (chunk: Buffer) => void (out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => void (err += chunk.toString()));
  return {
    process: child,
    exit: new Promise((resolve) => child.on('close', (code, signal) => resolve({ code, signal }))),
    out: () => out,
    err: () => err,
    async port() {
      await expect.poll(() => out).toContain('"event":"server.started"');
      return Number(/"port":(\d+)/.exec(out)?.[1]);
    },
  };
}

describe('runProcess', () => {
  it('ends on SIGTERM in order: requests in flight are answered, buffers flushed, exit 0', async () => {
    const sample = start({ SAMPLE: 'serve', TESSERA_DRAIN_PAUSE: '100ms' });
    const url = `http://127.0.0.1:${await sample.port()}/`;
    const inFlight = fetch(url).then((response) => response.text());
    await new Promise((resolve) => setTimeout(resolve, 100));
    sample.process.kill('SIGTERM');
    expect(await inFlight).toBe('done');
    expect(await sample.exit).toEqual({ code: 0, signal: null });
    const messages = sample
      .out()
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { message: string }).message);
    expect(messages).toEqual(['listening', 'started', 'stop requested', 'stopping', 'flushed', 'stopped']);
    await expect(fetch(url)).rejects.toThrow();
  });

  it('writes what a library prints on the console as a line of the log', async () => {
    const sample = start({ SAMPLE: 'print' });
    await sample.port();
    expect(sample.out()).toMatch(/^\{"level":"warn",.*"message":"\[WARN\] a library prints"\}$/m);
    expect(sample.err()).toBe('');
  });

  it('ends at once by force on a second signal', async () => {
    const sample = start({ SAMPLE: 'serve', TESSERA_DRAIN_PAUSE: '1m' });
    await sample.port();
    sample.process.kill('SIGINT');
    await expect.poll(sample.out).toContain('stop requested');
    await new Promise((resolve) => setTimeout(resolve, 1100));
    sample.process.kill('SIGINT');
    expect(await sample.exit).toEqual({ code: 1, signal: null });
  });

  it('treats two simultaneous signals as one, as npm sends them from a terminal', async () => {
    const sample = start({ SAMPLE: 'serve', TESSERA_DRAIN_PAUSE: '100ms' });
    const url = `http://127.0.0.1:${await sample.port()}/`;
    const inFlight = fetch(url).then((response) => response.text());
    await new Promise((resolve) => setTimeout(resolve, 100));
    for (let times = 0; times < 3; times += 1) {
      sample.process.kill('SIGINT');
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    expect(await inFlight).toBe('done');
    expect(await sample.exit).toEqual({ code: 0, signal: null });
  });

  it('prints every problem of its settings without a stack or a value, and exits with 1', async () => {
    const sample = start({ SAMPLE: 'serve', TESSERA_KEYS_KEK: 'short-but-secret', TESSERA_LOG_LEVL: 'info' });
    expect(await sample.exit).toEqual({ code: 1, signal: null });
    expect(sample.err().trim().split('\n')).toEqual([
      'tessera sample cannot start: The configuration has 2 problems:',
      '  - TESSERA_LOG_LEVL is not a setting of Tessera. Remove it, or did you mean TESSERA_LOG_LEVEL?',
      '  - TESSERA_KEYS_KEK: expected at least 32 characters.',
    ]);
    expect(sample.out()).toBe('');
  });

  it('starts with settings that were removed, and warns of each in a line that says what holds now', async () => {
    const sample = start({ SAMPLE: 'serve', TESSERA_DATABASE_ACQUIRE_TIMEOUT: '2s' });
    await sample.port();
    const warned = sample
      .out()
      .split('\n')
      .filter((line) => line.includes('"setting"'))
      .map((line) => (JSON.parse(line) as { message: string }).message);
    expect(warned).toEqual([
      'Use TESSERA_DATABASE_STATEMENT_TIMEOUT instead: TESSERA_DATABASE_ACQUIRE_TIMEOUT no longer has an effect.',
    ]);
  });

  it('prints one sentence when the start fails, closes what was opened, and exits with 1', async () => {
    const sample = start({ SAMPLE: 'crash' });
    expect(await sample.exit).toEqual({ code: 1, signal: null });
    expect(sample.err()).toBe('tessera sample cannot start: the thing is broken\n');
    expect(sample.out()).toContain('flushed');
  });

  it('names the remedy if the database role lacks a privilege', async () => {
    const sample = start({ SAMPLE: 'forbidden' });
    expect((await sample.exit).code).toBe(1);
    expect(sample.err()).toMatch(
      /cannot start: permission denied for database tessera\. The role .* lacks a right/,
    );
  });

  it('writes JSON where its output is piped, and lines for people where that is asked for', async () => {
    const piped = start({ SAMPLE: 'forbidden' });
    const asked = start({ SAMPLE: 'forbidden', SAMPLE_LOG: 'text' });
    await Promise.all([piped.exit, asked.exit]);
    expect(JSON.parse(piped.out().split('\n')[0] ?? '')).toMatchObject({ level: 'fatal' });
    expect(asked.out()).toMatch(/^\[\S+\] FATAL: sample: start failed \{"err":"permission denied/);
  });

  it('can be stopped during its start', async () => {
    const sample = start({ SAMPLE: 'hang', TESSERA_MANAGEMENT_PORT: '0' });
    await expect.poll(sample.out).toContain('hanging');
    sample.process.kill('SIGTERM');
    expect(await sample.exit).toEqual({ code: 0, signal: null });
    expect(sample.out()).toContain('flushed');
  });

  it('ends in order, but with 1, on an unhandled error', async () => {
    const sample = start({ SAMPLE: 'late' });
    expect(await sample.exit).toEqual({ code: 1, signal: null });
    expect(sample.out()).toMatch(/unhandled error[\s\S]*flushed/);
  });

  it('is killed at the failpoint that a crash test chose', async () => {
    const sample = start({ SAMPLE: 'serve', TESSERA_FAILPOINT: 'listening' });
    expect(await sample.exit).toEqual({ code: null, signal: 'SIGKILL' });
    expect(sample.out()).not.toContain('listening');
  });
});

describe('failpoints', () => {
  it('do nothing unless chosen, and are refused in production', () => {
    failpoints({})('anything');
    failpoints({ TESSERA_FAILPOINT: 'other' })('anything');
    expect(() => failpoints({ TESSERA_FAILPOINT: 'x', NODE_ENV: 'production' })).toThrow(
      /TESSERA_FAILPOINT is for tests/,
    );
  });
});
