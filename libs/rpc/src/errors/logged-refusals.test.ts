import { Code, ConnectError } from '@connectrpc/connect';
import { pino } from 'pino';
import { OAuthError, temporarilyUnavailable } from '@tessera/oauth';
import { describe, expect, it } from 'vitest';
import type { Principal } from '../call.ts';
import { ServedCall } from '../served-call.ts';
import { refuseFor } from './refusal.ts';

/** What is logged of a call of a principal that a handler refuses, some times. */
function logged(principal: Principal | undefined, code: Code, times = 1): readonly unknown[] {
  return loggedOf(() => new ConnectError('This needs admin.users.write.', code), principal, times);
}

/** What is logged of a call that a handler refuses with an error, some times. */
function loggedOf(
  refused: () => Error,
  principal?: Principal,
  times = 1,
): readonly Record<string, unknown>[] {
  const lines: Record<string, unknown>[] = [];
  const log = pino(
    { base: null, timestamp: false },
    { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) },
  );
  const refuse = refuseFor(log, 'a.Service/Method');
  const call = new ServedCall({
    caller: 'admin',
    principal,
    requestId: 'request-1',
    deadline: Infinity,
    cancellable: false,
  });
  for (let time = 0; time < times; time += 1) {
    expect(refuse(refused(), call)).toBeInstanceOf(Error);
  }
  return lines;
}

const robot = { kind: 'client', id: 'robot', tenantId: 'acme', scopes: ['admin.roles.read'] } as const;

it('an administrator who asks for more than they hold leaves a line of who asked for what, and why it was refused', () => {
  expect(logged(robot, Code.PermissionDenied, 50)).toEqual([
    {
      level: 40,
      method: 'a.Service/Method',
      caller: 'admin',
      requestId: 'request-1',
      principal: { kind: 'client', id: 'robot', tenantId: 'acme' },
      details: 'This needs admin.users.write.',
      msg: 'call refused',
    },
  ]);
});

it('other errors, and those of processes, leave none', () => {
  expect(logged(robot, Code.NotFound)).toEqual([]);
  expect(logged(undefined, Code.PermissionDenied)).toEqual([]);
});

describe('a refusal that is expected', () => {
  const away = Object.assign(new Error('connect ECONNREFUSED 10.0.0.1:5432'), { code: 'ECONNREFUSED' });

  it.each([
    [
      'a wrong secret',
      new OAuthError('invalid_client', 'No.', { cause: new Error('secret_mismatch') }),
      'secret_mismatch',
    ],
    [
      'a code of another client',
      new OAuthError('invalid_grant', 'No.', { cause: 'other_client' }),
      'other_client',
    ],
    [
      'a store that is away',
      temporarilyUnavailable(new Error('no database', { cause: away })),
      'no database: connect ECONNREFUSED 10.0.0.1:5432',
    ],
    [
      'several servers that are away',
      temporarilyUnavailable(new AggregateError([away], '')),
      'AggregateError: connect ECONNREFUSED 10.0.0.1:5432',
    ],
    [
      'a call with a cause',
      new ConnectError('No.', Code.NotFound, undefined, undefined, away),
      'connect ECONNREFUSED 10.0.0.1:5432',
    ],
  ])('leaves one line of its reason without a stack: %s', (_title, error, reason) => {
    const lines = loggedOf(() => error);
    expect(lines).toMatchObject([{ msg: 'call refused', reason }]);
    expect(JSON.stringify(lines)).not.toMatch(/"err"|stack| at /);
  });

  it('names what was refused and what may be changed', () => {
    const refusal = { received: 'no.such', hint: 'Declare it.' };
    const error = new OAuthError('invalid_scope', 'No.', { cause: 'unknown', refusal });
    expect(loggedOf(() => error)).toMatchObject([refusal]);
  });

  it('is not one of ours: server_error keeps the stack', () => {
    const error = new OAuthError('server_error', 'No.', { cause: new Error('a defect') });
    expect(loggedOf(() => error)).toMatchObject([{ level: 50, err: expect.anything() as unknown }]);
  });
});
