import { spawn } from 'node:child_process';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { OAuthError, temporarilyUnavailable } from '@tessera/oauth';
import { createLogger } from './log.ts';
import type { Logger } from './log.ts';
import { Secret } from '@tessera/kit';

interface Line {
  readonly [name: string]: unknown;
  readonly message?: string;
  readonly err?: { readonly [name: string]: unknown };
}

function captured(): { log: Logger; text: () => string; lines: () => Line[] } {
  const written: string[] = [];
  const log = createLogger(
    { service: 'test', level: 'trace' },
    { write: (line: string) => void written.push(line) },
  );
  return {
    log,
    text: () => written.join(''),
    lines: () => written.map((line) => JSON.parse(line) as Line),
  };
}

const canary = 'CANARY0123456789abcdef';
const opaque = `tr_01JABCDEF.${canary}`;
const jwt = `eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiIxIn0.${canary}`;

class DriverError extends Error {
  readonly severity = 'ERROR';
  readonly code: string;
  readonly detail = `Key (secret)=(${canary}) already exists.`;
  readonly parameters = [canary];
  readonly command = { name: 'set', args: ['key', canary] };

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** Every careless way to log a secret that we know of. */
function logCarelessly(log: Logger): void {
  log.info(
    { password: canary, clientSecret: canary, client_secret: canary, 'Set-Cookie': canary },
    'by name',
  );
  log.info(
    { code: canary, codeVerifier: canary, nested: { deeper: { accessToken: canary } } },
    'by name, nested',
  );
  log.info(
    { list: [{ refreshToken: canary }], headers: { authorization: canary }, body: canary },
    'in lists',
  );
  log.info({ value: new Secret(canary), text: String(new Secret(canary)) }, 'as a secret');
  log.info({ note: `Bearer ${canary}`, other: `got ${opaque} from a client`, third: jwt }, 'by shape');
  log.info(
    { url: `/callback?code=${canary}&state=${canary}`, store: `redis://:${canary}@redis:6379` },
    'in URLs',
  );
  log.info(`refresh_token=${canary}&grant_type=refresh_token`);
  log.info('the token %s of %o', opaque, { password: canary });
  log.info(
    { payload: Buffer.from(canary), map: new Map([['password', canary]]) },
    'in other kinds of objects',
  );
  log.info({ thing: { $typeName: 'tessera.keys.v1.Thing', field: canary } }, 'a message of the wire');
  log.info({ req: { method: 'POST', url: `/x?y=${canary}`, headers: { cookie: canary } } }, 'a request');
  const child = log.child({ requestId: 'r1', sessionToken: canary }).child({ password: canary });
  child.setBindings({ cookie: canary });
  child.info('in bindings');
  log.error(
    { err: new DriverError('23505', 'duplicate key value violates unique constraint "x"') },
    'a driver error',
  );
  log.error(new DriverError('22P02', `invalid input syntax for type uuid: "${canary}"`));
  log.error({ err: temporarilyUnavailable(new DriverError('57P01', 'terminating')) });
  log.error(
    { err: new Error(`ERR unknown command 'x', with args beginning with: '${canary}'`) },
    'a Redis error',
  );
  try {
    JSON.parse(canary);
  } catch (error) {
    log.error({ err: error }, 'a parser error');
  }
  log.error({ err: new Error('outer', { cause: new Error(`password=${canary}`) }) }, 'in a cause');
}

describe('createLogger', () => {
  it('keeps secrets out of the log however carelessly they are handed to it', () => {
    const { log, text, lines } = captured();
    logCarelessly(log);
    expect(lines()).toHaveLength(18);
    expect(text()).not.toContain(canary.slice(0, 12));
  });

  it('redacts by name behind the serializer as well', () => {
    const { log, text } = captured();
    const serializers = { token: () => canary, password: () => ({ inner: canary }) };
    log.child({}, { serializers }).info({ token: 'x', password: 'x' }, 'past the serializer');
    expect(text()).toContain('past the serializer');
    expect(text()).not.toContain(canary);
  });

  it('would leak without its own rules, so that the test above is awake', () => {
    const written: string[] = [];
    logCarelessly(pino({ level: 'trace' }, { write: (line: string) => void written.push(line) }));
    const leaking = written.filter((line) => line.includes(canary.slice(0, 12)));
    expect(leaking.length).toBeGreaterThanOrEqual(12);
  });

  it('prints name, code, message, stack and causes of an error and nothing else', () => {
    const { log, lines } = captured();
    const cause = new DriverError('53300', 'too many connections');
    log.error({ err: new OAuthError('temporarily_unavailable', 'Try again.', { cause }) }, 'it failed');
    const error = lines()[0]?.err;
    expect(error).toMatchObject({
      name: 'OAuthError',
      code: 'temporarily_unavailable',
      message: 'Try again.',
    });
    expect(error?.['cause']).toMatchObject({ name: 'Error', code: '53300', message: 'too many connections' });
    expect(Object.keys(error ?? {}).toSorted()).toEqual(['cause', 'code', 'message', 'name', 'stack']);
    expect(String(error?.['stack'])).toMatch(/^at .*log\.test\.ts/);
  });

  it('prints an error under the same name if it is logged alone', () => {
    const { log, lines } = captured();
    log.warn(new Error('alone'));
    expect(lines()[0]?.err).toMatchObject({ message: 'alone' });
  });

  it('prints the errors inside an aggregate, and stops in a chain of causes that goes round', () => {
    const { log, lines } = captured();
    const refused = Object.assign(new Error('connect ECONNREFUSED ::1:5432'), { code: 'ECONNREFUSED' });
    const loop = new Error('loop');
    loop.cause = loop;
    log.error({ err: new AggregateError([refused], '') });
    log.error({ err: loop });
    expect(lines()[0]?.err?.['errors']).toMatchObject([{ code: 'ECONNREFUSED' }]);
    expect(lines()[1]?.message).toBe('loop');
  });

  it('writes one well-formed line whatever the texts hold (ASVS 16.4.1)', () => {
    const { log, text, lines } = captured();
    const hostile = 'x\r\n{"level":"fatal"}\u001b[31m\u009b31m\u202egnp.exe\u2028\u0000';
    log.info({ name: hostile, [hostile]: 1 }, hostile);
    log.child({ requestId: hostile }).warn(new Error(hostile));
    expect(text().trimEnd().split('\n')).toHaveLength(2);
    expect(text()).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u202e]/);
    expect(lines()[0]?.message).toContain('\u001b[31m');
  });

  it('bounds what one line may hold', () => {
    const { log, text } = captured();
    const deep: Record<string, unknown> = {};
    deep['deep'] = deep;
    log.info(
      { long: 'x'.repeat(100_000), many: Array.from({ length: 10_000 }, () => 'y'), deep },
      'z'.repeat(100_000),
    );
    expect(text().length).toBeLessThan(12_000);
  });

  it('keeps what operators need: ids, numbers, times, status and error codes', () => {
    const { log, lines } = captured();
    const at = new Date(0);
    log
      .child({ requestId: 'r1' })
      .info({ statusCode: 200, errorCode: 'x', tenantId: 't', at, big: 2n ** 60n, no: null }, 'done');
    expect(lines()[0]).toMatchObject({
      level: 'info',
      service: 'test',
      requestId: 'r1',
      statusCode: 200,
      errorCode: 'x',
      tenantId: 't',
      at: '1970-01-01T00:00:00.000Z',
      big: '1152921504606846976',
      no: null,
      message: 'done',
    });
  });
});

/** Runs `program` in a process of its own; resolves with each chunk it wrote and its exit code. */
async function run(
  program: string,
): Promise<{ chunks: string[]; code: number | null; signal: string | null }> {
  const source = `import { createLogger } from ${JSON.stringify(new URL('log.ts', import.meta.url).href)};
    const log = createLogger({ service: 'sample', level: 'info' });
    ${program}`;
  const child = spawn(process.execPath, ['--input-type=module-typescript', '--eval', source], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const chunks: string[] = [];
  child.stdout.on('data', (chunk: Buffer) => void chunks.push(chunk.toString()));
  return new Promise((resolve) => child.on('close', (code, signal) => resolve({ chunks, code, signal })));
}

describe('standard output', () => {
  it('may be closed by its reader without a crash or a hang of the process', async () => {
    const source = `import { createLogger } from ${JSON.stringify(new URL('log.ts', import.meta.url).href)};
      const log = createLogger({ service: 'sample', level: 'info' });
      for (let i = 0; i < 100; i += 1) log.warn({ i }, 'line');
      log.info('the last line');
      setTimeout(() => { log.info('late'); process.stderr.write('alive'); process.exit(7); }, 200);`;
    const child = spawn(process.execPath, ['--input-type=module-typescript', '--eval', source], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child.stdout.destroy();
    let err = '';
    child.stderr.on('data', (chunk: Buffer) => void (err += chunk.toString()));
    const code = await new Promise((resolve) => child.on('close', resolve));
    expect([code, err]).toEqual([7, 'alive']);
  });

  it('is opened once, however many loggers write to it', async () => {
    const { chunks } = await run(
      `const before = process.listenerCount('exit');
       for (let i = 0; i < 20; i += 1) createLogger({ service: 'other', level: 'info' }).info('line');
       log.info({ added: process.listenerCount('exit') - before }, 'listeners');`,
    );
    expect(chunks.join('').match(/"message":"line"/g)).toHaveLength(20);
    expect(chunks.join('')).toContain('"added":0');
  });

  it('gathers lines, and loses none when the process exits', async () => {
    const { chunks, code } = await run(
      'for (let i = 0; i < 30; i += 1) log.info({ i }, "line"); process.exit(3);',
    );
    expect(code).toBe(3);
    expect(chunks.join('').trimEnd().split('\n')).toHaveLength(30);
    expect(chunks.length).toBeLessThan(5);
  });

  it('loses none when nothing handles an error', async () => {
    const { chunks } = await run('log.info("before"); setTimeout(() => { throw new Error("late"); }, 1);');
    expect(chunks.join('')).toContain('"message":"before"');
  });

  it('writes a warning at once, with all before it', async () => {
    const { chunks, signal } = await run(
      'log.info("one"); log.warn("two"); process.kill(process.pid, "SIGKILL");',
    );
    expect(signal).toBe('SIGKILL');
    expect(chunks.join('')).toMatch(/"message":"one".*\n.*"message":"two"/);
  });

  it('writes a lone line within a moment', async () => {
    const { chunks } = await run(
      'log.info("one"); setTimeout(() => process.kill(process.pid, "SIGKILL"), 500);',
    );
    expect(chunks.join('')).toContain('"message":"one"');
  });
});
