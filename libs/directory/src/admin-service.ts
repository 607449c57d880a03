import { Code, ConnectError, invalidFields, type CallContext, type Handlers } from '@tessera/rpc';
import { eventBase, type AuditEvent } from '@tessera/audit';
import type { DirectoryAdminService, Status } from '@tessera/proto-gen/directory';
import { applyDeclaredState, planDeclaredState, type ApplyDeps } from './apply/apply.ts';
import { administrationOf, AdministrationNotAllowedError } from './apply/administration-guard.ts';
import { DeletionsNotAllowedError } from './apply/deletion-guard.ts';
import { OwnerConflictError } from './apply/owner-conflicts.ts';
import type { PepperCheck } from './secrets/pepper-check.ts';
import { owner as ownerSchema } from './fields/owner.ts';
import { DeclaredStateError } from './declared/positions.ts';
import { writeTenant } from './declared/write.ts';
import { statusName } from './fields/status.ts';
import { notFound } from './ground/refusals.ts';
import { secretMessage } from './messages.ts';
import { impactOf } from './plans/impact.ts';
import { warningsOf } from './plans/roles-without-effect.ts';
import { withoutWayIn } from './plans/without-way-in.ts';
import { namesakesOf } from './apply/namesakes.ts';
import { differencesOf } from './apply/plan-differences.ts';
import type { DirectoryStore, StatusTarget } from './store/store.ts';

/** All calls but the one that makes the first administrator, which is not of this room. */
export type RecordAdminCalls = Omit<Handlers<typeof DirectoryAdminService>, 'createFirstAdministrator'>;

export function directoryAdminHandlers(
  deps: ApplyDeps & {
    readonly directoryStore: Pick<DirectoryStore, 'listSecrets'>;
    readonly pepperCheck: PepperCheck;
  },
): RecordAdminCalls {
  const setStatus = async (target: StatusTarget, event: AuditEvent) => {
    const result = await deps.store.setStatus(target, event);
    if (result === 'unknown') throw notFound(`The ${target.kind}`);
    deps.onChange();
    return {};
  };

  return {
    async apply({ document, fileName, allowDelete, allowAdministration, owner, takeOver }, context) {
      await deps.pepperCheck.require();
      const applied = await applyDeclaredState(
        deps,
        { text: document, fileName, owner: ownerOf(owner), takeOver },
        { base: eventBase(context), signal: context.signal, allowDelete, allowAdministration },
      ).catch(refuseMistakes);
      const tenants = applied.map((tenant) => ({
        ...tenant,
        newPeople: [...tenant.newPeople],
        warnings: [...tenant.warnings],
        unchanged: tenant.created + tenant.updated + tenant.deleted === 0,
      }));
      return { tenants };
    },

    async diff({ document, fileName, deletionsOnly, owner, takeOver, impact }, { signal }) {
      await deps.pepperCheck.look();
      const plans = await planDeclaredState(
        deps,
        { text: document, fileName, owner: ownerOf(owner), takeOver },
        { signal, deletionsOnly },
      ).catch(refuseMistakes);
      const tenants = plans.map(async (plan) => ({
        tenantId: plan.desired.tenant.tenantId,
        differences: deletionsOnly
          ? differencesOf(plan).filter(({ change }) => change === 'deleted')
          : differencesOf(plan, await namesakesOf(deps.database, plan)),
        withoutWayIn: withoutWayIn(plan).map(({ username }) => username),
        administration: administrationOf(plan).map(({ by: _, ...given }) => given),
        warnings: warningsOf(plan, deps.operatorTenant),
        ...(impact && !deletionsOnly && { impact: impactOf(plan) }),
      }));
      return { tenants: await Promise.all(tenants) };
    },

    async *getDeclaredState({ tenantId }) {
      const ids = tenantId === '' ? await deps.store.tenantIds() : [tenantId];
      for (const id of ids) {
        const state = await deps.store.tenantState(id);
        if (state === undefined) throw notFound('The tenant');
        yield { document: writeTenant(state) };
      }
    },

    setUserStatus({ tenantId, userId, status }, context) {
      const name = statusName(status) ?? refuse(status);
      const event = { event: `user.${name}`, subject: userId };
      return setStatus({ kind: 'user', tenantId, id: userId, status: name }, audit(event, tenantId, context));
    },

    setApplicationStatus({ tenantId, clientId, status }, context) {
      const name = activeOrDisabled(status);
      const event =
        name === 'disabled'
          ? { event: 'client.disabled', clientId }
          : { event: 'client.updated', clientId, details: { status: name } };
      return setStatus(
        { kind: 'application', tenantId, id: clientId, status: name },
        audit(event, tenantId, context),
      );
    },

    setTenantStatus({ tenantId, status }, context) {
      const name = activeOrDisabled(status);
      const event =
        name === 'disabled'
          ? { event: 'tenant.suspended' }
          : { event: 'tenant.updated', details: { status: name } };
      return setStatus({ kind: 'tenant', tenantId, status: name }, audit(event, tenantId, context));
    },

    async listApplicationSecrets({ clientId }) {
      const found = await deps.directoryStore.listSecrets(clientId);
      if (found === undefined) throw notFound('The application');
      return { secrets: found.map(secretMessage) };
    },
  };
}

/** The owner that a request names; undefined if the document decides. */
function ownerOf(name: string): string | undefined {
  if (name === '') return undefined;
  const parsed = ownerSchema.safeParse(name);
  if (parsed.success) return parsed.data;
  const [description = ''] = parsed.error.issues.map(({ message }) => message);
  throw invalidFields([{ field: 'owner', description }]);
}

/** What a caller can mend by an option, or by another owner. */
const conflicts = [DeletionsNotAllowedError, AdministrationNotAllowedError, OwnerConflictError];

/** Errors in the declared state are returned to the caller, and so are conflicts, and what it has to allow. */
function refuseMistakes(error: unknown): never {
  if (error instanceof Error && conflicts.some((kind) => error instanceof kind))
    throw new ConnectError(error.message, Code.FailedPrecondition);
  throw error instanceof DeclaredStateError ? new ConnectError(error.message, Code.InvalidArgument) : error;
}

function audit(event: Omit<AuditEvent, 'outcome'>, tenantId: string, context: CallContext): AuditEvent {
  return { ...eventBase(context), ...event, outcome: 'success', tenantId };
}

/** Only people can be locked. */
function activeOrDisabled(status: Status): 'active' | 'disabled' {
  const name = statusName(status);
  return name === 'active' || name === 'disabled' ? name : refuse(status);
}

function refuse(status: Status): never {
  throw new ConnectError(`The status ${status} is not allowed here.`, Code.InvalidArgument);
}
