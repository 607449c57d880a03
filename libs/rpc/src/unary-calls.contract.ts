import { isMessage } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { errorTable, isErrorCode, OAuthError } from '@tessera/oauth';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CallContext } from './call.ts';
import { rootCall } from './call-options.ts';
import { createSubject, writeRequest } from './testing/subject.ts';
import type { Reachable, SetUp } from './testing/set-ups.ts';
import { WriteResponseSchema } from './testing/trial/trial_pb.ts';
import { TrialService } from './testing/trial/trial-services.ts';

/** What holds for a call whichever way it takes. */
export function unaryCallContract(way: string, setUp: SetUp): void {
  describe(`a unary call ${way}`, () => {
    const subject = createSubject();
    let reachable: Reachable;
    const trial = (as: 'token' | 'gateway' = 'token') => reachable.client(TrialService, as);
    beforeAll(async () => {
      reachable = await setUp(subject);
    });
    afterAll(() => reachable.close());

    test('carries a complete message to the handler and back', async () => {
      subject.write = (request) => ({
        texts: request.items.map((item) => `${item.type}:${item.payload.length}`),
      });
      const response = await trial().write({ items: [{ payload: new Uint8Array(5) }, {}] });
      expect(isMessage(response, WriteResponseSchema)).toBe(true);
      expect(response.texts).toEqual(['0:5', '0:0']);
    });

    test('gives the handler bytes as a plain Uint8Array', async () => {
      subject.write = (request) => ({ texts: [request.items[0]?.payload.constructor.name ?? ''] });
      expect((await trial().write(writeRequest())).texts).toEqual(['Uint8Array']);
    });

    test('passes caller and request id to the handler', async () => {
      subject.read = (_, context) => ({ entries: [{ id: `${context.caller} ${context.requestId}` }] });
      const response = await trial('gateway').read({}, rootCall('request-1'));
      expect(response.entries[0]?.id).toBe('gateway request-1');
    });

    test('gets a new request id if none was given', async () => {
      subject.read = (_, context) => ({
        entries: [{ id: context.requestId }, { id: context.requestId }],
      });
      const { entries } = await trial().read({});
      expect(entries[0]?.id).toMatch(/^[0-9A-Z]{26}$/);
      expect(entries[1]?.id).toBe(entries[0]?.id);
    });

    test('passes on request id, signal and the remaining time less a margin', async () => {
      let onward: ReturnType<CallContext['onward']> | undefined;
      subject.read = (_, context) => {
        onward = context.onward();
        return {};
      };
      await trial().read({}, rootCall('request-2', 1_000));
      expect(onward?.headers).toEqual({ 'x-request-id': 'request-2' });
      expect(onward?.timeoutMs).toBeGreaterThan(700);
      expect(onward?.timeoutMs).toBeLessThanOrEqual(980);
      expect(onward?.signal?.aborted).toBe(false);
    });

    test('is refused onward when too little time is left', async () => {
      subject.read = async (_, context) => {
        await sleep(85);
        context.onward();
        return {};
      };
      const failure = await trial().read({}, rootCall('request-3', 105)).catch(caught);
      expect(failure).toMatchObject({ name: 'OAuthError', code: 'temporarily_unavailable' });
    });

    test('from a caller that is not allowed never reaches the handler', async () => {
      let reached = false;
      subject.write = () => {
        reached = true;
        return {};
      };
      const failure = await trial('gateway').write(writeRequest()).catch(caught);
      expect(failure).toBeInstanceOf(ConnectError);
      expect(failure).toMatchObject({ code: Code.PermissionDenied });
      expect(reached).toBe(false);
    });

    test('keeps concurrent calls apart', async () => {
      subject.write = async (request, context) => {
        await sleep((request.items[0]?.payload.length ?? 0) % 7);
        return { texts: [`${context.requestId}/${request.items[0]?.payload.length ?? 0}`] };
      };
      const calls = Array.from({ length: 50 }, (_, n) => trial().write(writeRequest(n), rootCall(`r${n}`)));
      const answers = await Promise.all(calls);
      expect(answers.map((answer) => answer.texts[0])).toEqual(answers.map((_, n) => `r${n}/${n}`));
    });

    test.each(Object.keys(errorTable))(
      'brings the protocol error %s with sentence and delay, without its cause',
      async (code) => {
        if (!isErrorCode(code)) throw new Error('not a code');
        subject.write = () => {
          throw new OAuthError(code, `The sentence of ${code}: ä “ü”.`, {
            cause: new Error('private'),
            retryAfterSeconds: 7,
          });
        };
        const failure = await trial().write(writeRequest()).catch(caught);
        expect(failure).toBeInstanceOf(OAuthError);
        expect(failure).toMatchObject({
          code,
          message: `The sentence of ${code}: ä “ü”.`,
          retryAfterSeconds: 7,
        });
        expect((failure as OAuthError).cause).toBeUndefined();
      },
    );

    test('leaves the cause of a protocol error in the log of the serving side, with the request id', async () => {
      subject.write = () => {
        throw new OAuthError('invalid_grant', 'The grant is invalid.', {
          cause: new Error('generation too old'),
        });
      };
      const failure = await trial().write(writeRequest(), rootCall('request-4')).catch(caught);
      expect(failure).toMatchObject({ retryAfterSeconds: undefined });
      const line = subject.lines.find((candidate) => candidate['requestId'] === 'request-4');
      expect(line).toMatchObject({
        errorCode: 'invalid_grant',
        caller: 'token',
        method: 'tessera.trial.v1.TrialService/Write',
      });
      expect(JSON.stringify(line)).toContain('generation too old');
    });

    test('carries any other failure by code and message', async () => {
      subject.write = () => {
        throw new ConnectError('no such key', Code.NotFound);
      };
      const failure = await trial().write(writeRequest()).catch(caught);
      expect(failure).toBeInstanceOf(ConnectError);
      expect(failure).toMatchObject({ code: Code.NotFound, rawMessage: 'no such key' });
    });

    test('hides an unexpected error but logs it with the request id', async () => {
      subject.write = () => Promise.reject(new TypeError('row is undefined'));
      const failure = await trial().write(writeRequest(), rootCall('request-5')).catch(caught);
      expect(failure).toMatchObject({ code: Code.Internal, rawMessage: 'internal error', cause: undefined });
      const line = subject.lines.find((candidate) => candidate['requestId'] === 'request-5');
      expect(line).toMatchObject({ level: 'error', caller: 'token' });
      expect(JSON.stringify(line)).toContain('row is undefined');
    });

    test.each([Code.Unavailable, Code.DeadlineExceeded])(
      'turns status %s into temporarily_unavailable',
      async (code) => {
        subject.write = () => {
          throw new ConnectError('unavailable', code);
        };
        const failure = await trial().write(writeRequest()).catch(caught);
        expect(failure).toMatchObject({
          name: 'OAuthError',
          code: 'temporarily_unavailable',
          retryAfterSeconds: 1,
        });
      },
    );

    test('ends with temporarily_unavailable at its deadline, and its handler is aborted', async () => {
      const ended = Promise.withResolvers<number>();
      subject.write = (_, context) => {
        context.signal.addEventListener('abort', () => ended.resolve(context.deadline));
        return new Promise(() => {});
      };
      const before = Date.now();
      const failure = await trial().write(writeRequest(), { timeoutMs: 60 }).catch(caught);
      expect(failure).toMatchObject({ name: 'OAuthError', code: 'temporarily_unavailable' });
      expect(Date.now() - before).toBeLessThan(1_000);
      const deadline = await ended.promise;
      expect(deadline).toBeGreaterThan(before);
      expect(deadline).toBeLessThan(before + 1_000);
    });

    test('ends as cancelled when the caller gives up, and its handler is aborted', async () => {
      const aborted = Promise.withResolvers<void>();
      const arrived = Promise.withResolvers<void>();
      subject.write = (_, context) => {
        context.signal.addEventListener('abort', () => aborted.resolve());
        arrived.resolve();
        return new Promise(() => {});
      };
      const giveUp = new AbortController();
      const call = trial()
        .write(writeRequest(), rootCall('request-6', 5_000, giveUp.signal))
        .catch(caught);
      await arrived.promise;
      giveUp.abort();
      expect(await call).toMatchObject({ name: 'ConnectError', code: Code.Canceled });
      await aborted.promise;
    });

    test('cancelled before it starts never reaches the handler', async () => {
      let reached = false;
      subject.write = () => {
        reached = true;
        return {};
      };
      const failure = await trial().write(writeRequest(), { signal: AbortSignal.abort() }).catch(caught);
      expect(failure).toMatchObject({ code: Code.Canceled });
      expect(reached).toBe(false);
    });

    test('that fails after its caller gave up fails quietly', async () => {
      const failed = Promise.withResolvers<void>();
      subject.write = async () => {
        await sleep(80);
        failed.resolve();
        throw new Error('too late to matter');
      };
      const failure = await trial().write(writeRequest(), { timeoutMs: 40 }).catch(caught);
      expect(failure).toMatchObject({ code: 'temporarily_unavailable' });
      await failed.promise;
      await sleep(10);
    });

    test('does not abort a handler that is done', async () => {
      let signal: AbortSignal | undefined;
      subject.write = (_, context) => {
        signal = context.signal;
        return {};
      };
      await trial().write(writeRequest(), { timeoutMs: 1_000 });
      await sleep(1_050);
      expect(signal?.aborted).toBe(false);
    });
  });
}

function caught(error: unknown): unknown {
  return error;
}
