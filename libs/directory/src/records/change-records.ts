import { createHash, type KeyObject } from 'node:crypto';
import { eventBase } from '@tessera/audit';
import { Code, ConnectError, type CallContext } from '@tessera/rpc';
import { endsTenant, impactOf, type Impact } from '../plans/impact.ts';
import { changesOf, type TenantPlan } from '../plans/plan.ts';
import { eventsOf } from '../plans/plan-events.ts';
import { notFound, refuseOtherVersion } from '../ground/refusals.ts';
import { trustOfOurs, trustTaken } from '../applications/trusts.ts';
import { clientIdAndAudience, sharedAudience, takenElsewhere } from '../resources/checks.ts';
import { lockDeleted } from '../deleted/deleted-records.postgres.ts';
import { recordKinds, type RecordKind, type RestorableKind, type RecordOf } from '../record-kinds.ts';
import type { StoredRecord } from '../plans/tenant-state.ts';
import type { ChangeRecord } from '../store/change-record.postgres.ts';
import type { RecordTransaction, TakenValue } from '../store/store.ts';
import { everybodyOf } from '../store/tenant-state.postgres.ts';
import { planRecord } from '../plans/plan-record.ts';
import { contentsOf, otherOwnersIn } from '../store/tenant-contents.postgres.ts';
import type { Change, Outcome, RecordChanges, Update } from './change-requests.ts';
import { deletedBy, forgetNext, nextDeletions, nothing } from './delete-contents.ts';
import { checkRequestId, claimed } from './repeated-creates.ts';
import { requestDigest } from './request-digest.ts';
import { withStatus } from './status-alone.ts';
import { refuseOtherOwner, requireOwner } from './writers.ts';

/** What errors call a record. */
export const called = (kind: RecordKind): string => `The ${kind}`;

export function createRecordChanges({
  changeRecord,
  pepper,
  onChange,
}: {
  readonly changeRecord: ChangeRecord;
  /** For digests of requests. */
  readonly pepper: KeyObject;
  /** Called after each commit. */
  readonly onChange: () => void;
}): RecordChanges {
  async function inTenant<T>(
    kind: RecordKind,
    tenantId: string,
    work: (records: RecordTransaction) => Promise<T>,
  ): Promise<T> {
    const done = await changeRecord(tenantId, recordKinds[kind].lock, async (records) => {
      if (kind !== 'tenant' && records.tenant === undefined) throw notFound('The tenant');
      return work(records);
    });
    onChange();
    return done;
  }

  return {
    async create(kind, { tenantId, validateOnly, id, requestId, content, draft }, context) {
      checkRequestId(requestId);
      const digest = requestDigest(pepper, content);
      return inTenant(kind, tenantId, async (records) => {
        const earlier = validateOnly ? undefined : await claimed(records, requestId, { kind, id, digest });
        if (earlier !== undefined) return repeated(records, kind, earlier);
        const after = await draft(records);
        if ((await records.find(kind, id)) !== undefined)
          throw new ConnectError(`${called(kind)} exists.`, Code.AlreadyExists);
        return carriedOut(records, kind, { after, id, validateOnly }, context);
      });
    },

    async update(kind, { tenantId, validateOnly, id, draft, claim, impact, status, ...expected }, context) {
      const { requestId = '', content = {} } = claim ?? {};
      checkRequestId(requestId);
      const digest = requestDigest(pepper, content);
      return inTenant(kind, tenantId, async (records) => {
        const earlier =
          claim && !validateOnly
            ? await claimed(records, requestId, { ...claim.created, digest })
            : undefined;
        if (earlier !== undefined) {
          claim?.repeated(earlier);
          return repeated(records, kind, id);
        }
        const present = await changeable(records, kind, id, { ...expected, status });
        const after =
          status === undefined
            ? await draft(present.record, records)
            : withStatus(present.record, status, expected);
        const change = { before: present.record, after, id, validateOnly, impact };
        return carriedOut(records, kind, change, context);
      });
    },

    async delete(kind, { tenantId, validateOnly, id, allow, impact = false, ...expected }, context) {
      return inTenant(kind, tenantId, async (records) => {
        const { record: before } = await changeable(records, kind, id, expected);
        await allow?.(before, records);
        const plan = planRecord(records.tenant, kind, before, undefined);
        if (validateOnly) return impact ? impactIn(records, plan) : undefined;
        await records.carryOut(decided(plan, context));
        return undefined;
      });
    },

    deleteContents: async (request, context) =>
      inTenant('tenant', request.tenantId, async (records) => deletedNext(records, request, context)),

    async restore(kind, { tenantId, validateOnly, id, etag: expected = '', draft }, context) {
      return inTenant(kind, tenantId, async (records) => {
        // First, so that of several restores all but one see the record of the first.
        const deleted = await lockDeleted<RecordOf[typeof kind]>(records.tx, kind, tenantId, id);
        if ((await records.find(kind, id)) !== undefined)
          throw new ConnectError(presentAgain[kind], Code.AlreadyExists);
        if (deleted === undefined) throw notFound(`${called(kind)}, deleted within the last 30 days,`);
        const after = await draft(deleted, records);
        const etag = versionOf(after);
        refuseOtherVersion(called(kind), expected, etag);
        const change = { after, id, validateOnly, restores: true } as const;
        const restored = await carriedOut(records, kind, change, context);
        return validateOnly ? { ...restored, etag } : restored;
      });
    },
  };
}

/** The version of a record that no row has: all that it says. */
function versionOf(record: object): string {
  return createHash('sha256').update(JSON.stringify(record)).digest('base64url');
}

/** Why a record is not restored that is there. */
const presentAgain = {
  user: 'The user exists.',
  application: 'The application exists: it was restored, or another one was created with its client ID.',
} as const satisfies Record<RestorableKind, string>;

async function repeated<K extends RecordKind>(
  records: RecordTransaction,
  kind: K,
  id: string,
): Promise<StoredRecord<RecordOf[K]>> {
  const found = await records.find(kind, id);
  if (found === undefined) throw notFound(called(kind));
  return found;
}

async function changeable<K extends RecordKind>(
  records: RecordTransaction,
  kind: K,
  id: string,
  {
    etag,
    status,
    saidOwner = '',
    ...by
  }: Pick<Change, 'etag' | 'takeOver' | 'writer'> & Pick<Update<K>, 'status' | 'saidOwner'>,
): Promise<StoredRecord<RecordOf[K]>> {
  const present = await records.find(kind, id);
  if (present === undefined) throw notFound(called(kind));
  refuseOtherVersion(called(kind), etag, present.etag);
  requireOwner(called(kind), present.record, { ...by, status });
  refuseOtherOwner(kind, saidOwner, [present.record.owner, ...(by.takeOver ? [by.writer] : [])]);
  return present;
}

async function carriedOut<K extends RecordKind>(
  records: RecordTransaction,
  kind: K,
  {
    before,
    after,
    id,
    validateOnly,
    impact = false,
    restores,
  }: {
    readonly before?: RecordOf[K];
    readonly after: RecordOf[K];
    readonly id: string;
    readonly validateOnly: boolean;
    readonly impact?: boolean | undefined;
    readonly restores?: true;
  },
  context: CallContext,
): Promise<Outcome<RecordOf[K]>> {
  const plan = { ...planRecord(records.tenant, kind, before, after), ...(restores && { restores }) };
  const taken = await records.taken(plan);
  if (taken.length > 0) {
    const messages = taken.map(({ kind: what, value }) => `${value}: ${takenMessages[what]}`);
    throw new ConnectError(messages.join('\n'), Code.AlreadyExists);
  }
  if (validateOnly) return { record: after, ...(impact && { impact: await impactIn(records, plan) }) };
  await records.carryOut(decided(plan, context));
  const stored = await records.find(kind, id);
  if (stored === undefined) throw new Error(`The ${kind} was not written.`);
  return stored;
}

async function deletedNext(
  records: RecordTransaction,
  { tenantId, validateOnly, ...by }: Parameters<RecordChanges['deleteContents']>[0],
  context: CallContext,
): ReturnType<RecordChanges['deleteContents']> {
  const { record: tenant } = await changeable(records, 'tenant', tenantId, by);
  if (!by.takeOver) refuseOthers(await otherOwnersIn(records.tx, tenantId, by.writer));
  if (validateOnly) return contentsOf(records.tx, tenantId);
  const plan = await nextDeletions(records, tenant);
  if (plan === undefined) return (await forgetNext(records)) ? nothing : undefined;
  await records.carryOut(decided(plan, context));
  return deletedBy(plan);
}

/** Throws FailedPrecondition if what is in a tenant has other owners than who deletes it. */
function refuseOthers(owners: readonly string[]): void {
  if (owners.length === 0) return;
  const names = owners.map((owner) => `"${owner}"`).join(', ');
  throw new ConnectError(
    `Records of the tenant belong to the owners ${names}. Delete them there, or take them over.`,
    Code.FailedPrecondition,
  );
}

/** A plan for a tenant alone has nobody in it. */
async function impactIn({ tx }: RecordTransaction, plan: TenantPlan): Promise<Impact> {
  const impact = impactOf(plan);
  return endsTenant(plan) ? { ...impact, ...(await everybodyOf(tx, plan.desired.tenant.tenantId)) } : impact;
}

const takenMessages = {
  trust: trustTaken,
  trustOfOurs,
  clientId: takenElsewhere,
  issuer: takenElsewhere,
  audience: sharedAudience,
  clientIdAsAudience: clientIdAndAudience,
  audienceAsClientId: clientIdAndAudience,
} as const satisfies Record<TakenValue['kind'], string>;

function decided(plan: TenantPlan, context: CallContext) {
  return { plan, changes: changesOf(plan), events: eventsOf(plan, eventBase(context)) };
}
