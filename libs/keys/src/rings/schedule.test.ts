import { describe, expect, it } from 'vitest';
import { dueStep } from './schedule.ts';
import type { StoredKey, StoredState } from '../store.ts';

const day = 86_400;
const schedule = { rotationPeriod: 30 * day, publicationLead: day };

function key(state: StoredState, ages: { publishedFor: number; activeFor?: number }): StoredKey {
  return {
    kid: state,
    state,
    algorithm: 'RS256',
    publicMembers: {},
    wrappedPrivateKey: state === 'retired' ? undefined : 'wrapped',
    publishedFor: ages.publishedFor,
    publishedAt: 0,
    activatedAt: undefined,
    retiredAt: undefined,
    activeFor: ages.activeFor,
  };
}

const active = (activeFor: number) => key('active', { publishedFor: activeFor + day, activeFor });

describe('the rotation schedule', () => {
  it('starts with a first key, even if only retired keys are left', () => {
    expect(dueStep([], schedule)).toBe('establish');
    expect(dueStep([key('retired', { publishedFor: 60 * day, activeFor: 59 * day })], schedule)).toBe(
      'establish',
    );
  });

  it('leaves a young key alone', () => {
    expect(dueStep([active(29 * day - 1)], schedule)).toBeUndefined();
  });

  it('publishes the next key one lead time before the end of the period', () => {
    expect(dueStep([active(29 * day)], schedule)).toBe('publish');
  });

  it('activates the next key after it was published for the lead time, not before', () => {
    expect(
      dueStep([key('published', { publishedFor: day - 1 }), active(30 * day)], schedule),
    ).toBeUndefined();
    expect(dueStep([key('published', { publishedFor: day }), active(30 * day)], schedule)).toBe('activate');
  });

  it('finishes a rotation that an operator began early', () => {
    expect(dueStep([key('published', { publishedFor: day }), active(3 * day)], schedule)).toBe('activate');
  });
});
