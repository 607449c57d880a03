import { status } from '@grpc/grpc-js';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installedDatabaseUrl, redisUrl } from '@tessera/test-kit';
import { people, secrets } from '../../harness/declared-state.ts';
import { leaks } from '@tessera/test-client';
import { RpcCalls, servedMethods, type ServedMethod } from '../../harness/rpc-calls.ts';
import { setUps, type System } from '../../harness/set-up.ts';
import { startSystem } from '../../harness/start.ts';
import { fuzz, insideOf } from './fuzz.ts';
import { encodedMessages } from './messages.ts';
import { knownValues, takeValues } from './templates.ts';

const callers = ['gateway', 'token', 'device', 'authorize', 'operator'];

/** Of a server that failed: what HTTP calls a 500. */
const failures: readonly number[] = [status.UNKNOWN, status.INTERNAL, status.DATA_LOSS];

interface Call extends ServedMethod {
  readonly caller: string;
  readonly message: Buffer;
}

describe('malformed gRPC messages', () => {
  let system: System;
  let rpc: RpcCalls;

  beforeAll(async () => {
    const stores = { databaseUrl: await installedDatabaseUrl(), redisUrl: redisUrl() };
    system = await startSystem(setUps.split, { stores });
    rpc = new RpcCalls(system);
  });
  afterAll(async () => {
    rpc?.close();
    await system?.stop();
  });

  const calls = (known: readonly string[]): fc.Arbitrary<Call> =>
    fc
      .constantFrom(...servedMethods)
      .chain((served) =>
        fc
          .tuple(fc.constantFrom(...callers), encodedMessages(served.method.input, known))
          .map(([caller, message]) => ({ ...served, caller, message })),
      );

  it('get an answer, never an internal error, and nothing of the inside', async () => {
    const known = knownValues(await takeValues(system));
    const forOurEyes = [...Object.values(secrets), ...Object.values(people).map(({ password }) => password)];
    await fuzz(calls(known), 1_000, async (call) => {
      const { code, details, body } = await rpc.send(call, call.caller, call.message);
      expect(
        failures,
        `${call.method.name} of ${call.process}, called by ${call.caller}: ${code}`,
      ).not.toContain(code);
      expect(insideOf(details + body.toString('latin1'), forOurEyes)).toBeUndefined();
    });
    for (const process of system.processes) expect(process.running).toBe(true);
  });

  it('leave no error and no secret in the log', () => {
    const output = system.output();
    const errors = output.split('\n').filter((line) => /"level":"(?:error|fatal)"/.test(line));
    expect(errors.slice(0, 3)).toEqual([]);
    expect(leaks(output, system.http.seen)).toEqual([]);
  });
});
