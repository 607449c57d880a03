import { OAuthErrorDetailSchema } from '@tessera/proto-gen/error';
import { Code, ConnectError, needsOperator } from '@tessera/rpc';
import { operatorRemedy } from '@tessera/rpc/caller';
import { expect, it } from 'vitest';
import { takenElsewhere } from '../resources/checks.ts';
import type { TenantApart } from '../declared/tenants-apart.ts';
import { applyInTurn } from './apply-in-turn.ts';

const turns = ['acme', 'globex', 'initech'].map((tenantId, place): TenantApart => ({
  tenantId,
  document: tenantId,
  placed: (reason) => reason.replaceAll('tenants[0]', `tenants[${place}]`),
}));
const taken = () =>
  new ConnectError(
    `state.yaml:3:5: tenants[0].applications[0].clientId: ${takenElsewhere}`,
    Code.FailedPrecondition,
  );

it('a tenant that claims what a later one has waits for it', async () => {
  const order: string[] = [];
  const outcomes = await applyInTurn(turns, async ({ tenantId }) => {
    if (tenantId !== 'initech' && !order.includes('initech')) throw taken();
    order.push(tenantId);
    return `${tenantId} is there`;
  });
  expect(order).toEqual(['initech', 'acme', 'globex']);
  expect(outcomes).toEqual(['acme is there', 'globex is there', 'initech is there']);
});

it('tenants that wait for one another are refused, each at its own place', async () => {
  const applied = applyInTurn(turns, async ({ tenantId }) => {
    if (tenantId !== 'acme') throw taken();
    return tenantId;
  });
  await expect(applied).rejects.toMatchObject({
    code: Code.FailedPrecondition,
    rawMessage: [
      `state.yaml:3:5: tenants[1].applications[0].clientId: ${takenElsewhere}`,
      `state.yaml:3:5: tenants[2].applications[0].clientId: ${takenElsewhere}`,
      'Failed: globex, initech. Applied before: acme.',
    ].join('\n'),
  });
});

it('any other refusal ends it, and names what was applied and what was not tried', async () => {
  const applied = applyInTurn(turns, async ({ tenantId }) => {
    if (tenantId === 'globex') throw new ConnectError('Nothing was applied: no.', Code.FailedPrecondition);
    return tenantId;
  });
  await expect(applied).rejects.toMatchObject({
    rawMessage:
      'Nothing of globex was applied: no.\nFailed: globex. Applied before: acme. Not tried: initech.',
  });
});

it('what an operator has to mend names them too, however it travelled', async () => {
  const refusedReason = 'Start with the former one';
  const detail = { code: 'temporarily_unavailable', refusedPhase: 'needs an operator', refusedReason };
  const details = [{ desc: OAuthErrorDetailSchema, value: detail }];
  const travelled = new ConnectError('Later.', Code.Unavailable, { a: 'b' }, details);
  for (const error of [needsOperator(refusedReason), travelled]) {
    const applied = applyInTurn(turns, async ({ tenantId }) => {
      if (tenantId === 'globex') throw error;
      return tenantId;
    });
    const { code, message } = error;
    const thrown: unknown = await applied.catch((reason: unknown) => reason);
    expect(thrown).toMatchObject({ code, message });
    expect(operatorRemedy(thrown)).toBe(
      'Start with the former one. Failed: globex. Applied before: acme. Not tried: initech',
    );
    if (thrown instanceof ConnectError) expect(thrown.metadata.get('a')).toBe('b');
  }
});

it('an error that no directory answered, or that an operator has to mend before anything is applied, stays as it is', async () => {
  const lost = new TypeError('a defect');
  for (const error of [lost, needsOperator('Start with the former one')]) {
    const applied = applyInTurn(turns, async () => {
      throw error;
    });
    await expect(applied).rejects.toBe(error);
  }
});
