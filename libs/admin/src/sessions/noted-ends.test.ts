import { temporarilyUnavailable } from '@tessera/oauth';
import { EndSessionsResponseSchema } from '@tessera/proto-gen/admin-sessions';
import { NoteSessionEndResponseSchema } from '@tessera/proto-gen/token';
import { Code, ConnectError, create } from '@tessera/rpc';
import { expect, it } from 'vitest';
import { notedEnds } from './noted-ends.ts';

const ended = create(EndSessionsResponseSchema, {
  sessions: [{ sessionId: 's1', earlierSessionIds: ['s0'] }, { sessionId: 's2' }],
});
const request = { tenantId: 'acme', whose: { case: 'userId', value: 'u1' } } as const;

function noting(fail?: Error) {
  const noted: unknown[] = [];
  const sessions = {
    list: async () => Promise.reject(new Error('not asked')),
    countSignIns: async () => Promise.reject(new Error('not asked')),
    endSessions: async () => ended,
  };
  const client = notedEnds(sessions, {
    async noteSessionEnd(each) {
      if (fail !== undefined) throw fail;
      noted.push(each);
      return create(NoteSessionEndResponseSchema);
    },
  });
  return { noted, end: async () => client.endSessions(request) };
}

it('token hears of every session that is over before the answer (SES-7)', async () => {
  const { noted, end } = noting();
  expect(await end()).toEqual(ended);
  expect(noted).toEqual(['s1', 's0', 's2'].map((sessionId) => ({ tenantId: 'acme', sessionId })));
});

it.each([
  ['away', Code.Unavailable],
  ['may not', Code.PermissionDenied],
])('what token did not hear is not confirmed: %s', async (why, code) => {
  await expect(noting(new ConnectError(why, code)).end()).rejects.toThrow(why);
});

it('a session that is over, of which token did not hear in time, is one whose end is not known', async () => {
  await expect(noting(temporarilyUnavailable()).end()).rejects.toThrow(
    'It is not known whether this was done.',
  );
});
