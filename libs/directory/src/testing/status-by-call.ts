import { systemClock, systemRandom } from '@tessera/kit';
import type { Database } from '@tessera/stores';
import { recordKinds } from '../record-kinds.ts';
import type { StatusName } from '../fields/status.ts';
import { eventsOf } from '../plans/plan-events.ts';
import { planRecord } from '../plans/plan-record.ts';
import { changesOf } from '../plans/plan.ts';
import { createChangeRecord } from '../store/change-record.postgres.ts';

/** A record, and the status that it gets; people alone can be locked. */
type StatusTarget =
  | { readonly kind: 'tenant'; readonly tenantId: string; readonly status: StatusName }
  | {
      readonly kind: 'application' | 'user';
      readonly tenantId: string;
      readonly id: string;
      readonly status: StatusName;
    };

/** Sets the status of one record as the administration API does. Resolves with it. */
export async function setStatus(database: Database, target: StatusTarget): Promise<StatusName> {
  const { kind, tenantId, status } = target;
  const changeRecord = createChangeRecord(database, { clock: systemClock, random: systemRandom });
  return changeRecord(tenantId, recordKinds[kind].lock, async (records) => {
    const found = await records.find(kind, target.kind === 'tenant' ? tenantId : target.id);
    if (found === undefined) throw new Error(`There is no such ${kind} in ${tenantId}.`);
    const after = { ...found.record, status } as typeof found.record;
    const plan = planRecord(records.tenant, kind, found.record, after);
    await records.carryOut({ plan, changes: changesOf(plan), events: eventsOf(plan, {}) });
    return status;
  });
}
