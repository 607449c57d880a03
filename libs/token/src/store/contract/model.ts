import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Database } from '@tessera/stores';
import type { RotationOutcome } from '../store.ts';
import { bench, retryWindow, trail, type Bench, type Started } from './fixture.ts';

/** What a family should be, written without regard to how it is stored. */
interface Model {
  live: number;
  windowOpen: boolean;
  undelivered: boolean;
  /** Attempts that hold the live generation and did not fail. */
  handOuts: number;
  revoked: boolean;
}

type Step =
  | { readonly do: 'present'; readonly back: number; readonly by: 'owner' | 'other'; readonly wide: boolean }
  | { readonly do: 'presentMany'; readonly back: number; readonly times: number }
  | { readonly do: 'recordUndelivered' | 'letWindowPass' | 'revoke' };

const back = fc.nat({ max: 3 });
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        do: fc.constant('present' as const),
        back,
        by: fc.constantFrom('owner' as const, 'owner' as const, 'owner' as const, 'other' as const),
        wide: fc.integer({ min: 0, max: 5 }).map((value) => value === 0),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constant('presentMany' as const),
        back,
        times: fc.integer({ min: 2, max: 4 }),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constantFrom('recordUndelivered' as const, 'letWindowPass' as const, 'letWindowPass' as const),
      }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('revoke' as const) }) },
  ),
  { minLength: 4, maxLength: 14 },
);

/** Random histories of one family, checked step by step against the model: no fork, no return from the dead. */
export function modelContract(engine: string, open: () => Promise<Database>, runs: number): void {
  describe(`random histories on ${engine}`, () => {
    let on: Bench;
    beforeAll(async () => {
      on = bench(await open());
    });

    it(`agree with the model in ${runs} histories: after every step one generation is live, and its predecessor too if it was not delivered`, async () => {
      await fc.assert(
        fc.asyncProperty(steps, async (history) => {
          const family = await on.start();
          const model: Model = {
            live: 1,
            windowOpen: false,
            undelivered: false,
            handOuts: 1,
            revoked: false,
          };
          for (const step of history) {
            await take(on, family, model, step);
            await expectOneLive(on, family, model);
          }
        }),
        { numRuns: runs },
      );
    });
  });
}

async function take(on: Bench, { familyId, request }: Started, model: Model, step: Step): Promise<void> {
  switch (step.do) {
    case 'present': {
      const presented = Math.max(1, model.live - step.back);
      const by = step.by === 'other' ? { clientId: 'other' } : {};
      const scopes = step.wide ? { scopes: ['orders.read', 'never.granted'] } : {};
      const outcome = await on.refresh.rotate(request(presented, { ...by, ...scopes }));
      return expect(outcome).toMatchObject(expected(model, presented, step.by, step.wide));
    }
    case 'presentMany': {
      const presented = Math.max(1, model.live - step.back);
      const together = Array.from({ length: step.times }, () => on.refresh.rotate(request(presented)));
      const outcomes = await Promise.all(together);
      const allowed = outcomes.map(() => expected(model, presented, 'owner', false));
      return expect(outcomes.map(shape).toSorted()).toEqual(allowed.map(shape).toSorted());
    }
    case 'recordUndelivered':
      await on.refresh.recordUndelivered(request(model.live));
      if (model.revoked || model.live === 1) return undefined;
      model.handOuts = Math.max(0, model.handOuts - 1);
      if (model.handOuts === 0) model.undelivered = true;
      return undefined;
    case 'letWindowPass':
      await on.elapse(familyId, retryWindow + 1);
      model.windowOpen = false;
      return undefined;
    case 'revoke':
      await on.refresh.revoke({ familyId, owner: undefined, reason: '', trail });
      model.revoked = true;
      return undefined;
  }
}

/** The next outcome by the rules, and what it makes of the model. */
function expected(
  model: Model,
  presented: number,
  by: 'owner' | 'other',
  wide: boolean,
): { kind: RotationOutcome['kind']; generation?: number } {
  if (by === 'other') return { kind: 'client_mismatch' };
  if (model.revoked) return { kind: 'revoked' };
  if (presented === model.live) {
    if (wide) return { kind: 'scope_exceeded' };
    Object.assign(model, { live: model.live + 1, windowOpen: true, undelivered: false, handOuts: 1 });
    return { kind: 'rotated', generation: model.live };
  }
  if (presented === model.live - 1 && (model.windowOpen || model.undelivered)) {
    if (wide) return { kind: 'scope_exceeded' };
    model.handOuts += 1;
    if (model.undelivered) Object.assign(model, { undelivered: false, windowOpen: true });
    return { kind: 'retried', generation: model.live };
  }
  model.revoked = true;
  return { kind: 'reuse_detected' };
}

function shape(outcome: { kind: string; generation?: number }): string {
  return `${outcome.kind} ${outcome.generation ?? ''}`;
}

async function expectOneLive(on: Bench, { familyId }: Started, model: Model): Promise<void> {
  for (let generation = 1; generation <= model.live + 1; generation += 1) {
    const live = (await on.refresh.findLive(familyId, generation)) !== undefined;
    const left = model.undelivered && generation === model.live - 1;
    expect(live).toBe(!model.revoked && (generation === model.live || left));
  }
}
