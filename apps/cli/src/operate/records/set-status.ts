import { Code, ConnectError, type CallOptions } from '@tessera/rpc/caller';
import { ApplicationsService } from '@tessera/proto-gen/admin-applications';
import { TenantsService } from '@tessera/proto-gen/admin-tenants';
import { UsersService } from '@tessera/proto-gen/admin-users';
import { DirectoryService } from '@tessera/proto-gen/directory';
import { CommandError, type Terminal } from '../../terminal.ts';
import { orNotFound, withService, type ClientOf } from './with-service.ts';

export interface StatusChange {
  readonly verb: 'disable' | 'enable';
  /** A person is named by user name, e-mail address or phone number. */
  readonly target:
    | { readonly kind: 'tenant'; readonly tenantId: string }
    | { readonly kind: 'application'; readonly clientId: string; readonly tenantId: string | undefined }
    | { readonly kind: 'user'; readonly tenantId: string; readonly identifier: string };
  /** Whether a record of another owner is taken over, which enabling it needs. */
  readonly takeOver: boolean;
}

const verbs = {
  disable: { name: 'Disabling', status: 'disabled', done: 'is disabled' },
  enable: { name: 'Enabling', status: 'active', done: 'is active' },
} as const;

const timeoutMs = 10_000;

/**
 * Sets the status of a tenant, application or person. Throws CommandError when there is no such record, or only its
 * owner enables it.
 */
export async function setStatus({ verb, target, takeOver }: StatusChange, terminal: Terminal): Promise<void> {
  const { name, status, done } = verbs[verb];
  const what = await withService('directory', terminal, {
    name,
    changes: true,
    timeoutMs,
    async run(clientOf, call) {
      // Of this field alone, as a record of another owner is then disabled without being taken over.
      const update = { status, updateMask: { paths: ['status'] }, takeOver };
      const found = await find(target, update, clientOf, call);
      await found.set().catch(ownersRefusal(found.name)).catch(found.notFound);
      return found.name;
    },
  });
  terminal.say(`${what} ${done}.\n`);
}

interface Found {
  /** What messages call the record. */
  readonly name: string;
  readonly notFound: (error: unknown) => never;
  set(): Promise<unknown>;
}

async function find(
  target: StatusChange['target'],
  { status, ...update }: { status: string; updateMask: { paths: string[] }; takeOver: boolean },
  clientOf: ClientOf,
  call: CallOptions,
): Promise<Found> {
  const directory = clientOf(DirectoryService);
  switch (target.kind) {
    case 'tenant': {
      const { tenantId } = target;
      return {
        name: `The tenant ${tenantId}`,
        notFound: orNotFound(`There is no tenant ${tenantId}.`),
        set: async () =>
          clientOf(TenantsService).update({ ...update, tenantId, tenant: { tenantId, status } }, call),
      };
    }
    case 'application': {
      const { clientId } = target;
      const where = target.tenantId === undefined ? '' : ` in the tenant ${target.tenantId}`;
      const notFound = orNotFound(`There is no application ${clientId}${where}.`);
      const found =
        target.tenantId === undefined
          ? await directory.getApplication({ clientId }, call).catch(notFound)
          : undefined;
      const tenantId = target.tenantId ?? found?.tenant?.tenantId ?? '';
      const application = { clientId, status };
      return {
        name: `The application ${clientId} of the tenant ${tenantId}`,
        notFound,
        set: async () => clientOf(ApplicationsService).update({ ...update, tenantId, application }, call),
      };
    }
    case 'user': {
      const { tenantId, identifier } = target;
      const notFound = orNotFound(`There is no user ${identifier} in the tenant ${tenantId}.`);
      const { user } = await directory.findUser({ tenantId, identifier }, call).catch(notFound);
      const { userId = '', username = '' } = user ?? {};
      return {
        name: `The user ${username} of the tenant ${tenantId}`,
        notFound,
        set: async () =>
          clientOf(UsersService).update({ ...update, tenantId, user: { userId, status } }, call),
      };
    }
  }
}

/** Replaces the refusal of what its owner alone changes by one that names the record and the option. */
function ownersRefusal(name: string): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof ConnectError) || error.code !== Code.FailedPrecondition) throw error;
    const why = error.rawMessage.replace(/\.$/, ' (--take-over).');
    throw new CommandError(`${name} stays as it is. ${why}`);
  };
}
