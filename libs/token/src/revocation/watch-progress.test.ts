import { create } from '@bufbuild/protobuf';
import { WatchSessionEndsResponseSchema } from '@tessera/proto-gen/authorize';
import { WatchChangesResponseSchema } from '@tessera/proto-gen/directory';
import { expect, it, vi } from 'vitest';
import type { StreamItem } from './merge-streams.ts';
import type { Sources } from './revocation-sources.ts';
import { WatchProgress } from './watch-progress.ts';

const start = { families: 1, directory: 2, sessions: 3 };
const arrivals: { readonly [N in keyof Sources]: StreamItem<Sources> } = {
  families: { from: 'families', item: { kind: 'position', sequence: 1 } },
  directory: { from: 'directory', item: create(WatchChangesResponseSchema, { sequence: 2n }) },
  sessions: { from: 'sessions', item: create(WatchSessionEndsResponseSchema, { sequence: 3n }) },
};

it('takes no feed for silent because the process was busy for minutes, as all of them are late then', () => {
  vi.useFakeTimers();
  try {
    const progress = new WatchProgress(start);
    for (let pause = 0; pause < 5; pause += 1) {
      vi.advanceTimersByTime(60_000);
      for (const arrived of Object.values(arrivals)) progress.advance(arrived);
    }
    expect(progress.cursor).toBe('1.1.2.3');
  } finally {
    vi.useRealTimers();
  }
});

it.each(['directory', 'sessions'] as const)('notices that %s is silent while the others go on', (silent) => {
  const progress = new WatchProgress(start);
  const heard = Object.values(arrivals).filter(({ from }) => from !== silent);
  const half = () => heard.forEach((arrived) => progress.advance(arrived));
  for (let time = 0; time < 6; time += 1) half();
  expect(half).toThrow('A revocation feed stopped responding.');
});
