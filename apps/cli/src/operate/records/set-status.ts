import type { CallOptions } from '@tessera/rpc';
import { ApplicationsService } from '@tessera/proto-gen/admin-applications';
import { TenantsService } from '@tessera/proto-gen/admin-tenants';
import { UsersService } from '@tessera/proto-gen/admin-users';
import { DirectoryService } from '@tessera/proto-gen/directory';
import type { Terminal } from '../../terminal.ts';
import { orNotFound, withService, type ClientOf } from './with-service.ts';

export interface StatusChange {
  readonly verb: 'disable' | 'enable';
  /** A person is named by user name, e-mail address or phone number. */
  readonly target:
    | { readonly kind: 'tenant'; readonly tenantId: string }
    | { readonly kind: 'application'; readonly clientId: string; readonly tenantId: string | undefined }
    | { readonly kind: 'user'; readonly tenantId: string; readonly identifier: string };
}

const verbs = {
  disable: { name: 'Disabling', status: 'disabled', done: 'is disabled' },
  enable: { name: 'Enabling', status: 'active', done: 'is active' },
} as const;

const timeoutMs = 10_000;

/** Sets the status of a tenant, application or person. Throws CommandError when there is no such record. */
export async function setStatus({ verb, target }: StatusChange, terminal: Terminal): Promise<void> {
  const { name, status, done } = verbs[verb];
  const what = await withService('directory', terminal, {
    name,
    timeoutMs,
    run: (clientOf, call) => set(target, status, clientOf, call),
  });
  terminal.say(`${what} ${done}.\n`);
}

/** Resolves with the name of the record for the message. */
async function set(
  target: StatusChange['target'],
  status: 'disabled' | 'active',
  clientOf: ClientOf,
  call: CallOptions,
): Promise<string> {
  const directory = clientOf(DirectoryService);
  // Of every owner: a change of this field alone needs no taking over.
  const updateMask = { paths: ['status'] };
  switch (target.kind) {
    case 'tenant': {
      const { tenantId } = target;
      const notFound = orNotFound(`There is no tenant ${tenantId}.`);
      const tenant = { tenantId, status };
      await clientOf(TenantsService).update({ tenantId, tenant, updateMask }, call).catch(notFound);
      return `The tenant ${tenantId}`;
    }
    case 'application': {
      const { clientId } = target;
      const notFound = orNotFound(`There is no application ${clientId}.`);
      const found =
        target.tenantId === undefined
          ? await directory.getApplication({ clientId }, call).catch(notFound)
          : undefined;
      const tenantId = target.tenantId ?? found?.tenant?.tenantId ?? '';
      const application = { clientId, status };
      await clientOf(ApplicationsService).update({ tenantId, application, updateMask }, call).catch(notFound);
      return `The application ${clientId} of the tenant ${tenantId}`;
    }
    case 'user': {
      const { tenantId, identifier } = target;
      const notFound = orNotFound(`There is no user ${identifier} in the tenant ${tenantId}.`);
      const { user } = await directory.findUser({ tenantId, identifier }, call).catch(notFound);
      const { userId = '', username = '' } = user ?? {};
      await clientOf(UsersService)
        .update({ tenantId, user: { userId, status }, updateMask }, call)
        .catch(notFound);
      return `The user ${username} of the tenant ${tenantId}`;
    }
  }
}
