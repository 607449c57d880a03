import { Code } from '@connectrpc/connect';
import { temporarilyUnavailable } from '@tessera/oauth';
import type { OAuthError } from '@tessera/oauth';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { rootCall } from './call-options.ts';
import { createSubject } from './testing/subject.ts';
import type { Reachable, SetUp } from './testing/set-ups.ts';
import { TrialStreamService } from './testing/trial/trial-services.ts';

/** What holds for a server stream whichever way it takes. */
export function streamContract(way: string, setUp: SetUp): void {
  describe(`a server stream ${way}`, () => {
    const subject = createSubject();
    let reachable: Reachable;
    const streams = (as: 'token' | 'gateway' | 'directory' = 'token') =>
      reachable.client(TrialStreamService, as);
    beforeAll(async () => {
      reachable = await setUp(subject);
    });
    afterAll(() => reachable.close());

    test('delivers every message in order and ends', async () => {
      subject.watch = async function* (request) {
        for (let n = 1n; n <= 200n; n += 1n) yield { sequence: request.afterSequence + n };
      };
      const sequences: bigint[] = [];
      for await (const change of streams().watch({ afterSequence: 5n })) sequences.push(change.sequence);
      expect(sequences).toEqual(Array.from({ length: 200 }, (_, n) => BigInt(n + 6)));
    });

    test('delivers the error of its handler after the earlier messages', async () => {
      subject.watch = async function* () {
        yield { sequence: 1n };
        await sleep(20);
        throw temporarilyUnavailable(new Error('private'), 9);
      };
      const seen: bigint[] = [];
      const read = async (): Promise<void> => {
        for await (const change of streams().watch({})) seen.push(change.sequence);
      };
      const failure = await read().catch(caught);
      expect(failure).toMatchObject({
        name: 'OAuthError',
        code: 'temporarily_unavailable',
        retryAfterSeconds: 9,
      });
      expect((failure as OAuthError).cause).toBeUndefined();
      expect(seen).toEqual([1n]);
    });

    test('from a caller that is not allowed never reaches the handler', async () => {
      let reached = false;
      subject.watch = async function* () {
        reached = true;
        yield {};
      };
      const responses = streams('directory').watch({});
      const first = await responses[Symbol.asyncIterator]().next().catch(caught);
      expect(first).toMatchObject({ code: Code.PermissionDenied });
      expect(reached).toBe(false);
    });

    test('is cancelled when its consumer leaves the loop: its handler is aborted and its generator closed', async () => {
      const aborted = Promise.withResolvers<void>();
      const closed = Promise.withResolvers<void>();
      subject.watch = async function* (_, context) {
        try {
          yield { sequence: 1n };
          yield { sequence: 2n };
          await new Promise<void>((resolve) => {
            context.signal.addEventListener('abort', () => resolve());
            if (context.signal.aborted) resolve();
          });
          aborted.resolve();
        } finally {
          closed.resolve();
        }
      };
      for await (const change of streams().watch({})) {
        expect(change.sequence).toBe(1n);
        // Time for a handler over the wire to run ahead to where it waits.
        await sleep(30);
        break;
      }
      await closed.promise;
    });

    test('ends as cancelled when its caller gives up while it waits for the next message', async () => {
      const aborted = Promise.withResolvers<void>();
      subject.watch = async function* (_, context) {
        context.signal.addEventListener('abort', () => aborted.resolve());
        yield { sequence: 1n };
        await aborted.promise;
      };
      const giveUp = new AbortController();
      const read = async (): Promise<void> => {
        for await (const _ of streams().watch({}, rootCall('request-7', undefined, giveUp.signal))) {
          setTimeout(() => giveUp.abort(), 20);
        }
      };
      expect(await read().catch(caught)).toMatchObject({ name: 'ConnectError', code: Code.Canceled });
      await aborted.promise;
    });

    test('has no deadline unless one is given', async () => {
      const deadlines: number[] = [];
      subject.watch = async function* (_, context) {
        deadlines.push(context.deadline);
        yield {};
        if (context.deadline !== Infinity) await new Promise(() => {});
      };
      for await (const _ of streams().watch({})) expect(deadlines).toEqual([Infinity]);
      const read = async (): Promise<void> => {
        for await (const change of streams().watch({}, { timeoutMs: 80 })) expect(change.id).toBe('');
      };
      expect(await read().catch(caught)).toMatchObject({ code: 'temporarily_unavailable' });
    });

    test('is produced no faster than it is consumed', async () => {
      let produced = 0;
      const id = 'x'.repeat(32 * 1024);
      subject.watch = async function* () {
        for (; produced < 2_000; produced += 1) yield { id };
      };
      for await (const _ of streams().watch({})) {
        await sleep(150);
        break;
      }
      expect(produced).toBeLessThan(200);
    });
  });
}

function caught(error: unknown): unknown {
  return error;
}
