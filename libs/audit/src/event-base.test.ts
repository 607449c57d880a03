import { expect, it } from 'vitest';
import { eventBase } from './event-base.ts';

it('the actor of a change is whom the caller acts for, else the caller', () => {
  const call = { caller: 'admin', requestId: 'r1' };
  expect(eventBase(call)).toEqual({ actor: { type: 'operator', id: 'admin' }, requestId: 'r1' });
  const ada = { type: 'user', tenantId: 'ops', id: 'usr_ada' } as const;
  expect(eventBase({ ...call, actor: ada })).toEqual({ actor: ada, requestId: 'r1' });
  expect(eventBase({ ...call, actor: { type: 'operator', tenantId: '', id: 'operator' } })).toEqual({
    actor: { type: 'operator', id: 'operator' },
    requestId: 'r1',
  });
});
