import { Code, ConnectError, type CallContext, type Handlers } from '@tessera/rpc';
import { eventBase, type AuditEvent } from '@tessera/audit';
import type { DirectoryAdminService, Status } from '@tessera/proto-gen/directory';
import { declaredDocuments, type DocumentDeps } from './calls/declared-documents.ts';
import { DeclaredStateError } from './declared/declared-state-error.ts';
import { apiOwner } from './fields/owner.ts';
import { statusName } from './fields/status.ts';
import { notFound } from './ground/refusals.ts';
import { secretMessage } from './messages.ts';
import { called } from './records/change-records.ts';
import { requireOwner } from './records/writers.ts';
import type { DirectoryStore, StatusTarget } from './store/store.ts';

/** All calls but the one that makes the first administrator, which is not of this room. */
export type RecordAdminCalls = Omit<Handlers<typeof DirectoryAdminService>, 'createFirstAdministrator'>;

export function directoryAdminHandlers(
  deps: DocumentDeps & { readonly directoryStore: Pick<DirectoryStore, 'listSecrets'> },
): RecordAdminCalls {
  const documents = declaredDocuments(deps);
  /** For command lines of earlier versions; later ones update the record. */
  const setStatus = async (target: StatusTarget, event: AuditEvent) => {
    const name = called(target.kind);
    const remedy = 'take it over by a command line of this version (enable --take-over)';
    const result = await deps.store.setStatus(target, event, (present) =>
      requireOwner(name, present, { writer: apiOwner, takeOver: false, status: target.status, remedy }),
    );
    if (result === 'unknown') throw notFound(name);
    deps.onChange();
    return {};
  };

  return {
    async apply(request, context) {
      return { tenants: await documents.apply(request, context).catch(refuseMistakes) };
    },

    async diff(request, context) {
      const found = await documents.diff(request, context).catch(refuseMistakes);
      return { tenants: found.map(({ etag: _, ...tenant }) => tenant) };
    },

    async *getDeclaredState({ tenantId }) {
      const { writeTenant } = await import('./declared/write.ts');
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

/** Mistakes in the document are returned to the caller. */
function refuseMistakes(error: unknown): never {
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
