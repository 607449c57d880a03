import { Code, ConnectError } from '@connectrpc/connect';
import { pino } from 'pino';
import { expect, it } from 'vitest';
import type { Principal } from '../call.ts';
import { ServedCall } from '../hosts/served-call.ts';
import { refuseFor } from './refusal.ts';

/** What is logged of a call of a principal that a handler refuses, some times. */
function logged(principal: Principal | undefined, code: Code, times = 1): readonly unknown[] {
  const lines: unknown[] = [];
  const log = pino(
    { base: null, timestamp: false },
    { write: (line: string) => void lines.push(JSON.parse(line)) },
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
    const error = new ConnectError('This needs admin.users.write.', code);
    expect(refuse(error, call)).toBe(error);
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
