import type { StoredKey } from '../store.ts';

/** The rotation schedule, in seconds. */
export interface Schedule {
  /** How long a key signs. */
  readonly rotationPeriod: number;
  /** How long a key is published before it signs. */
  readonly publicationLead: number;
}

/** A step of the life cycle. */
export type Step = 'establish' | 'publish' | 'activate';

/**
 * The step that is due, if any. The next key is published one lead time before the end of the period and activated
 * after the lead time. A key that an operator published earlier is activated in the same way, without further state.
 */
export function dueStep(keys: readonly StoredKey[], schedule: Schedule): Step | undefined {
  const active = keys.find((key) => key.state === 'active');
  if (active === undefined) return 'establish';
  const next = keys.find((key) => key.state === 'published');
  if (next !== undefined) return next.publishedFor >= schedule.publicationLead ? 'activate' : undefined;
  return (active.activeFor ?? 0) >= publicationAge(schedule) ? 'publish' : undefined;
}

/** Age of the active key at which its successor is published. */
export function publicationAge(schedule: Schedule): number {
  return schedule.rotationPeriod - schedule.publicationLead;
}
