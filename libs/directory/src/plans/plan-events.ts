import { isDeepStrictEqual } from 'node:util';
import type { AuditEvent, EventBase } from '@tessera/audit';
import { fileOwner } from '../fields/owner.ts';
import { listedKinds, recordKinds, recordName, type ListedKind } from '../record-kinds.ts';
import { waysTakenBack } from './lost-ways.ts';
import type { KnownWay } from './tenant-state.ts';
import { changedFields, type Difference, type TenantPlan } from './plan.ts';
import type { ApplicationRecord } from '../applications/fields.ts';
import type { ProviderRecord } from '../providers/fields.ts';
import type { TenantRecord } from '../tenants/fields.ts';
import type { UserRecord } from '../users/fields.ts';

type Draft = Omit<AuditEvent, 'outcome' | 'tenantId' | keyof EventBase>;

/** The audit events of a plan: one for each thing that happened to a record. */
export function eventsOf(plan: TenantPlan, base: EventBase): AuditEvent[] {
  const drafts = [
    ...ownedBy(
      plan.desired.tenant,
      plan.tenant === 'deleted'
        ? [{ event: 'tenant.deleted' }]
        : tenantEvents(plan.current?.tenant, plan.desired.tenant),
    ),
    ...listedKinds
      .filter((kind) => !Object.hasOwn(ownEvents, kind))
      .flatMap((kind) => recordEvents(kind, plan[recordKinds[kind].list])),
    ...Object.values(ownEvents).flatMap((events) => events(plan)),
  ];
  const { tenantId } = plan.desired.tenant;
  return drafts.map((draft) => ({ ...base, ...draft, outcome: 'success', tenantId }));
}

/** Events of a record name its owner, unless that is the usual one. */
function ownedBy(record: { readonly owner: string } | undefined, drafts: readonly Draft[]): readonly Draft[] {
  const owner = record?.owner ?? fileOwner;
  if (owner === fileOwner) return drafts;
  return drafts.map((draft) => ({ ...draft, details: { ...draft.details, owner } }));
}

function tenantEvents(before: TenantRecord | undefined, after: TenantRecord): Draft[] {
  if (before === undefined) return [{ event: 'tenant.created' }];
  if (isDeepStrictEqual(before, after)) return [];
  const suspended = after.status === 'disabled' && before.status !== 'disabled';
  return [{ event: suspended ? 'tenant.suspended' : 'tenant.updated', ...changed(before, after) }];
}

/** Of kinds whose changes have events of their own. */
const ownEvents = {
  provider: (plan) => [...providerEvents(plan), ...judgementEvents(plan)],
  application: applicationEvents,
  user: userEvents,
} as const satisfies { readonly [K in ListedKind]?: (plan: TenantPlan) => readonly Draft[] };

function recordEvents(
  kind: ListedKind,
  { created, updated, deleted }: Difference<{ readonly owner: string }>,
): readonly Draft[] {
  const happened = (record: { readonly owner: string }, change: string, more: Draft['details'] = {}) =>
    ownedBy(record, [
      { event: 'config.changed', details: { [kind]: recordName(kind, record), change, ...more } },
    ]);
  return [
    ...created.flatMap((record) => happened(record, 'created')),
    ...updated.flatMap(({ before, after }) => happened(after, 'updated', changed(before, after).details)),
    ...deleted.flatMap((record) => happened(record, 'deleted')),
  ];
}

/** Who decides how people sign in. */
function providerEvents({ providers: { created, updated, deleted } }: TenantPlan): Draft[] {
  const happened = (record: ProviderRecord, event: string, details: Draft['details'] = {}) =>
    ownedBy(record, [{ event, details: { provider: record.name, ...details } }]);
  return [
    ...created.flatMap((record) => happened(record, 'provider.created', { issuer: record.issuer })),
    ...updated.flatMap(({ before, after }) =>
      happened(after, 'provider.updated', changed(before, after).details),
    ),
    ...deleted.flatMap((record) => happened(record, 'provider.deleted')),
  ];
}

/** People whose addresses are verified, or no longer, as their provider may say so. */
function judgementEvents({ judged }: TenantPlan): Draft[] {
  return judged.flatMap(({ user }) =>
    ownedBy(user, [{ event: 'user.updated', subject: user.userId, details: { changed: 'emailVerified' } }]),
  );
}

function applicationEvents({ applications: { created, updated, deleted }, restores }: TenantPlan): Draft[] {
  const made = restores ? 'client.restored' : 'client.created';
  return [
    ...created.flatMap((record) => ownedBy(record, [{ event: made, clientId: record.clientId }])),
    ...updated.flatMap(({ before, after }) => ownedBy(after, applicationUpdate(before, after))),
    ...deleted.flatMap((record) => ownedBy(record, [{ event: 'client.deleted', clientId: record.clientId }])),
  ];
}

function applicationUpdate(before: ApplicationRecord, after: ApplicationRecord): Draft[] {
  const { clientId } = after;
  const drafts: Draft[] = [];
  if (before.status !== after.status && after.status === 'disabled') {
    drafts.push({ event: 'client.disabled', clientId });
  }
  const secret = secretEvent(before, after);
  if (secret !== undefined) drafts.push({ event: secret, clientId });
  if (!isDeepStrictEqual(redirectsOf(before), redirectsOf(after))) {
    drafts.push({ event: 'client.redirect_uris.changed', clientId });
  }
  const rest = changed(
    { ...before, secrets: [], redirectUris: [], redirectUriPrefixes: [], status: '' },
    { ...after, secrets: [], redirectUris: [], redirectUriPrefixes: [], status: '' },
  );
  const enabled = before.status !== after.status && after.status === 'active' ? { status: 'active' } : {};
  const details = { ...rest.details, ...enabled };
  if (Object.keys(details).length > 0) drafts.push({ event: 'client.updated', clientId, details });
  return drafts;
}

function redirectsOf({ redirectUris, redirectUriPrefixes }: ApplicationRecord) {
  return [redirectUris, redirectUriPrefixes];
}

/** Adding a second secret begins a rotation; removing the first completes it. */
function secretEvent(before: ApplicationRecord, after: ApplicationRecord): string | undefined {
  const digests = (application: ApplicationRecord) => application.secrets.map(({ digest }) => digest);
  const added = digests(after).some((digest) => !digests(before).includes(digest));
  const removed = digests(before).some((digest) => !digests(after).includes(digest));
  if (after.secrets.length === 0 && removed) return 'client.secret.revoked';
  if (removed) return 'client.secret.rotation_completed';
  if (added) return 'client.secret.rotation_started';
  return isDeepStrictEqual(before.secrets, after.secrets) ? undefined : 'client.secret.expiry_changed';
}

function userEvents(plan: TenantPlan): Draft[] {
  const { created, updated, deleted } = plan.users;
  const made = plan.restores ? 'user.restored' : 'user.created';
  const takenBack = Map.groupBy(waysTakenBack(plan), ({ userId }) => userId);
  return [
    ...created.flatMap((record) => ownedBy(record, [{ event: made, subject: record.userId }])),
    ...updated.flatMap(({ before, after }) =>
      ownedBy(after, [
        ...userUpdate(before, after),
        ...(takenBack.get(after.userId) ?? []).map(takenBackEvent),
      ]),
    ),
    ...deleted.flatMap((record) => ownedBy(record, [{ event: 'user.deleted', subject: record.userId }])),
  ];
}

function takenBackEvent({ userId: subject, provider }: KnownWay): Draft {
  return provider === ''
    ? { event: 'auth.factor.removed', subject, details: { factor: 'passkey' } }
    : { event: 'auth.provider.unlinked', subject, details: { provider } };
}

function userUpdate(before: UserRecord, after: UserRecord): Draft[] {
  const subject = after.userId;
  const drafts: Draft[] = [];
  if (before.status !== after.status) drafts.push({ event: `user.${after.status}`, subject });
  if (before.passwordHash !== after.passwordHash) drafts.push({ event: 'auth.credential.changed', subject });
  const rest = changed(
    { ...before, status: '', passwordHash: '' },
    { ...after, status: '', passwordHash: '' },
  );
  if (rest.details !== undefined) drafts.push({ event: 'user.updated', subject, ...rest });
  return drafts;
}

function changed<T extends object>(before: T, after: T): { details?: Record<string, string> } {
  const fields = changedFields(before, after);
  return fields.length === 0 ? {} : { details: { changed: fields.join(' ') } };
}
