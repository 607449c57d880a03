import type { Runtime } from '@tessera/process';
import { createMemoryCodeStore, createMemoryVisitStore } from './store.memory.ts';
import { createRedisCodeStore } from './code-store.redis.ts';
import { createRedisVisitStore } from './visit-store.redis.ts';
import type { CodeStore } from './code-store.ts';
import type { VisitStore } from './visit-store.ts';

/**
 * The stores of visits and codes, which belong together: a code may be saved in one step with the end of its visit.
 * @param quota visits of one address
 */
export function openVisitsAndCodes(
  { redis, clock }: Pick<Runtime, 'redis' | 'clock'>,
  quota: number,
): { readonly visitStore: VisitStore; readonly codeStore: CodeStore } {
  if (redis !== undefined)
    return { visitStore: createRedisVisitStore(redis, quota), codeStore: createRedisCodeStore(redis) };
  const visitStore = createMemoryVisitStore(clock, quota);
  return { visitStore, codeStore: createMemoryCodeStore(clock, visitStore) };
}
