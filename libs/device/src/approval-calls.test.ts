import { ApprovalsService } from '@tessera/proto-gen/admin-approvals';
import { local, onBehalfOf, rootCall } from '@tessera/rpc';
import { silentLog } from '@tessera/test-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  codeOf,
  createWorld,
  decideBackchannel,
  newPerson,
  openDevice,
  person,
  startBackchannel,
  startDevice,
  waitingFor,
  type World,
} from './testing/world.ts';

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.service.close());

const admin = { type: 'user', tenantId: 'ops', id: 'usr_root' } as const;
const call = () => onBehalfOf(rootCall('a-request'), admin);
const api = () => local(ApprovalsService, world.service, 'admin', silentLog());

describe('administrators', () => {
  it('see what waits for a person, and deny it in their place', async () => {
    const bob = newPerson(world);
    const { poll } = await startBackchannel(world, bob.username, { bindingMessage: 'order 7' });
    const { tenantId, userId } = bob;
    const { approvals } = await api().list({ tenantId, userId }, call());
    expect(approvals).toMatchObject([
      { clientId: 'acme-bank', scopes: ['openid', 'orders.read'], bindingMessage: 'order 7' },
    ]);
    const approvalId = approvals[0]?.approvalId ?? '';
    expect(Number(approvals[0]?.expireTime?.seconds) * 1000).toBeGreaterThan(Date.now());
    await api().cancel({ tenantId, approvalId }, call());
    expect(await codeOf(poll())).toBe('access_denied');
    expect(await waitingFor(world, bob)).toEqual([]);
    const [row, ...others] = await world.audited('ciba.denied', { subject: userId });
    expect(others).toEqual([]);
    expect(row).toMatchObject({
      reason: 'cancelled',
      tenant_id: tenantId,
      record: { actor: admin, clientId: 'acme-bank' },
    });
  });

  it('cancel what waits, once, and nothing that was decided', async () => {
    const bob = newPerson(world);
    const { poll } = await startBackchannel(world, bob.username);
    const [waiting] = await waitingFor(world, bob);
    const named = { tenantId: bob.tenantId, approvalId: waiting?.requestId ?? '' };
    await decideBackchannel(world, named.approvalId, bob);
    await expect(api().cancel(named, call())).rejects.toThrow('not_found');
    expect((await poll()).userGrant?.userId).toBe(bob.userId);
  });

  it('reach neither another tenant nor the request of a device or of nobody', async () => {
    const bob = newPerson(world);
    const { poll } = await startBackchannel(world, bob.username);
    const [waiting] = await waitingFor(world, bob);
    const approvalId = waiting?.requestId ?? '';
    for (const foreign of [
      { tenantId: 'umbra', approvalId },
      { tenantId: 'acme', approvalId: 'unknown' },
    ])
      await expect(api().cancel(foreign, call())).rejects.toThrow('not_found');
    expect((await api().list({ tenantId: 'umbra', userId: bob.userId }, call())).approvals).toEqual([]);
    expect((await api().list({ tenantId: 'acme' }, call())).approvals).toEqual([]);
    expect(await codeOf(poll())).toBe('authorization_pending');
    const ada = person();
    const opened = await openDevice(world, (await startDevice(world)).userCode, ada);
    await expect(api().cancel({ tenantId: 'acme', approvalId: opened }, call())).rejects.toThrow('not_found');
  });
});
