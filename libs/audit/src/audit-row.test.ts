import { fakeClock } from '@tessera/test-kit';
import { describe, expect, it } from 'vitest';
import { systemRandom } from '@tessera/kit';
import { auditRow, auditRows } from './audit-row.ts';

const runtime = { clock: fakeClock(Date.UTC(2026, 0, 2)), random: systemRandom };

describe('auditRows', () => {
  it('have identifiers in the order of the events, also within a millisecond', () => {
    const events = Array.from({ length: 50 }, (_, at) => ({
      event: `event.${at}`,
      outcome: 'success' as const,
    }));
    const rows = auditRows(events, runtime);
    const names = rows
      .toSorted((a, b) => (a.eventId < b.eventId ? -1 : 1))
      .map(({ record }) => (JSON.parse(record) as { event: string }).event);
    expect(names).toEqual(events.map(({ event }) => event));
    expect(new Set(rows.map(({ eventId }) => eventId)).size).toBe(50);
  });
});

describe('auditRow', () => {
  it('turns an event into one JSON record', () => {
    const { eventId, record } = auditRow(
      {
        event: 'refresh.rotated',
        outcome: 'success',
        tenantId: 'acme',
        actor: { type: 'client', id: 'web' },
        details: { generation: '3' },
      },
      runtime,
    );
    expect(eventId).toMatch(/^[0-9A-HJKMNP-TV-Z]{26}$/);
    expect(JSON.parse(record)).toEqual({
      eventId,
      time: '2026-01-02T00:00:00.000Z',
      event: 'refresh.rotated',
      outcome: 'success',
      tenantId: 'acme',
      actor: { type: 'client', id: 'web' },
      details: { generation: '3' },
    });
  });

  it('keeps texts short and printable, also those of clients', () => {
    const hostile = `a\u0000b\r\n\u001b[31m\u202e\ud800${'x'.repeat(10_000)}`;
    const details = Object.fromEntries(
      Array.from({ length: 100 }, (_, index) => [`${index}${hostile}`, hostile]),
    );
    const { record } = auditRow(
      { event: 'x', outcome: 'failure', reason: hostile, clientId: hostile, details },
      runtime,
    );
    const { reason } = JSON.parse(record) as { reason: string };
    expect(reason).toMatch(/^a\ufffdb\ufffd\ufffd\ufffd\[31m\ufffd\ufffdx{500}$/);
    expect(record.length).toBeLessThan(40_000);
    expect(record).not.toMatch(/\\u|\p{Cc}/u);
    expect(record.isWellFormed()).toBe(true);
  });

  it('cuts no character in half', () => {
    const details = { reason: `x${'\u{1f4f1}'.repeat(600)}` };
    const { record } = auditRow({ event: 'x', outcome: 'success', details }, runtime);
    expect(JSON.parse(record)).toMatchObject({ details: { reason: `x${'\u{1f4f1}'.repeat(511)}` } });
  });

  it('contains no token that somebody pasted into a text (LOG-1)', () => {
    const jwt = `eyJ${'a'.repeat(30)}.eyJ${'b'.repeat(40)}.${'c'.repeat(342)}`;
    const pasted = ['tr_', 'tc_', 'td_', 'ta_', 'ts_'].map((prefix) => prefix + 'x'.repeat(43));
    for (const token of [...pasted, jwt]) {
      const details = { reason: `lost ${token}, revoke it` };
      const { record } = auditRow(
        { event: 'token.revoked', outcome: 'success', reason: token, details },
        runtime,
      );
      expect(record).not.toContain(token.slice(3, 15));
      expect(JSON.parse(record)).toMatchObject({
        reason: '[redacted]',
        details: { reason: 'lost [redacted], revoke it' },
      });
    }
    const harmless = {
      clientId: 'ts_backend_service',
      subject: 'usr_abcdefghijklmnopqrstuv',
      sessionId: 'tr_-_',
    };
    expect(
      JSON.parse(auditRow({ event: 'x', outcome: 'success', ...harmless }, runtime).record),
    ).toMatchObject(harmless);
  });

  it('replaces control characters and those that jsonb refuses, wherever they are', () => {
    const bad = '\udfff\u0000\u001f\u007f\u0085\u009f\u200e\u200f\u2028\u2029\u202a\u202e\u2066\u2069\ud800';
    for (const character of bad.match(/./gsu) ?? []) {
      for (const text of [character, `a${character}`, `${character}a`]) {
        const row = auditRow({ event: 'x', outcome: 'success', clientId: text }, runtime);
        expect(JSON.parse(row.record)).toMatchObject({ clientId: text.replace(character, '\ufffd') });
      }
    }
  });

  it('keeps letters of every script, and signs beyond the basic plane', () => {
    const text = 'Ada \u00e9\u4e2d\u0627\u200d\u2010\u2027\u206a\uffff \u{1f600}';
    expect(
      JSON.parse(auditRow({ event: 'x', outcome: 'success', clientId: text }, runtime).record),
    ).toMatchObject({
      clientId: text,
    });
  });
});
