import { notOffered } from '@tessera/rpc';
import { EndsSchema } from '@tessera/proto-gen/impact';
import { CountEndedResponseSchema } from '@tessera/proto-gen/token';
import { create } from '@tessera/rpc';
import { expect, it } from 'vitest';
import { completeImpact } from './complete-impact.ts';

const one = { total: 1 };
const counts = { sessions: one, refreshFamilies: one, approvals: one, consents: one };
const ends = create(EndsSchema, { tenantId: 'acme', userIds: ['usr_ada'] });
const unavailable = { code: 'temporarily_unavailable' };

const completed = async (answer: () => object, impact: object = { people: 1, ends }) =>
  completeImpact(impact, { countEnded: async () => create(CountEndedResponseSchema, answer()) }, {});

it('an impact has all that is counted, and nothing to count by', async () => {
  const { sessions, refreshFamilies, approvals, consents, ...rest } = await completed(() => counts);
  expect([sessions, refreshFamilies, approvals, consents].map((of) => of?.total)).toEqual([1, 1, 1, 1]);
  expect(rest).toEqual({ people: 1 });
});

it('an impact fails where the process that counts does not know how', async () => {
  const unknown = () => {
    throw notOffered('TokenService/CountEnded');
  };
  await expect(completed(unknown)).rejects.toMatchObject(unavailable);
});

it.each(['sessions', 'refreshFamilies', 'consents'])(
  'an impact fails where %s are not counted, as their absence would read as none',
  async (name) => {
    await expect(completed(() => ({ ...counts, [name]: undefined }))).rejects.toMatchObject(unavailable);
  },
);

it('an impact fails that does not say by what the rest is counted', async () => {
  await expect(completed(() => counts, { people: 1 })).rejects.toMatchObject(unavailable);
});
