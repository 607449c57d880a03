import { fakeClock } from '@tessera/test-kit';
import { describe, expect, it } from 'vitest';
import type { AuditEvent } from './audit-row.ts';
import { AuditFloods } from './audit-floods.ts';

const refusal = (fields: Partial<AuditEvent> = {}): AuditEvent => ({
  event: 'client.auth_failed',
  outcome: 'failure',
  reason: 'invalid_client',
  ipAddress: '192.0.2.7',
  ...fields,
});

function open() {
  const clock = fakeClock();
  const floods = new AuditFloods(clock);
  const admitted = (event: AuditEvent, times: number) =>
    Array.from({ length: times }, () => floods.admits(event)).filter((admits) => admits).length;
  return { clock, floods, admitted };
}

describe('a flood of refusals (DOS-8)', () => {
  it('is a hundred rows a minute for one kind and address, and one that says how many more there were', () => {
    const { clock, floods, admitted } = open();
    expect(admitted(refusal(), 1000)).toBe(100);
    expect(admitted(refusal({ ipAddress: '192.0.2.8' }), 3)).toBe(3);
    expect(admitted(refusal({ reason: 'rate_limited' }), 3)).toBe(3);
    expect(floods.summarise()).toBeUndefined();
    clock.advance(60_000);
    expect(floods.summarise()).toEqual([refusal({ details: { alike: '900' } })]);
    expect(admitted(refusal(), 1)).toBe(1);
  });

  it('counts the addresses of one subscriber together', () => {
    const { admitted } = open();
    const from = (host: number) => refusal({ ipAddress: `2001:db8:1:2::${host.toString(16)}` });
    const all = Array.from({ length: 300 }, (_, host) => admitted(from(host), 1));
    expect(all.filter((one) => one === 1)).toHaveLength(100);
  });

  it('in one tenant hides nothing of another, and is recorded in its own', () => {
    const { floods, admitted } = open();
    expect(admitted(refusal({ tenantId: 'acme' }), 150)).toBe(100);
    expect(admitted(refusal({ tenantId: 'umbra' }), 101)).toBe(100);
    expect(floods.summarise(true)).toEqual([
      refusal({ tenantId: 'acme', details: { alike: '50' } }),
      refusal({ tenantId: 'umbra', details: { alike: '1' } }),
    ]);
  });

  it('never leaves out what succeeded, nor what has no address', () => {
    const { admitted } = open();
    expect(admitted(refusal({ outcome: 'success' }), 1000)).toBe(1000);
    expect(admitted(refusal({ ipAddress: '' }), 1000)).toBe(1000);
  });

  it('is bounded too when every refusal has another address', () => {
    const { floods } = open();
    let written = 0;
    for (let index = 0; index < 50_000; index += 1) {
      const ipAddress = `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`;
      if (floods.admits(refusal({ ipAddress }))) written += 1;
    }
    expect(written).toBe(10_100);
    expect(floods.summarise(true)).toMatchObject([{ details: { alike: '39900' } }]);
  });
});
