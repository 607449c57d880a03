import type { CallOptions } from '@tessera/rpc';
import { DirectoryAdminService, DirectoryService, Status } from '@tessera/proto-gen/directory';
import type { Terminal } from '../terminal.ts';
import { orNotFound, withService, type ClientOf } from './service.ts';

export type Verb = 'disable' | 'enable';

const verbs = {
  disable: { name: 'Disabling', status: Status.DISABLED, done: 'is disabled' },
  enable: { name: 'Enabling', status: Status.ACTIVE, done: 'is active' },
} as const;

const timeoutMs = 10_000;

/** Sets the status of a tenant. Throws CommandError when there is no such tenant. */
export async function setTenantStatus(tenantId: string, verb: Verb, terminal: Terminal): Promise<void> {
  await setStatus(verb, terminal, async (clientOf, call, status) => {
    await clientOf(DirectoryAdminService)
      .setTenantStatus({ tenantId, status }, call)
      .catch(orNotFound(`There is no tenant ${tenantId}.`));
    return `The tenant ${tenantId}`;
  });
}

/** Sets the status of an application, of whatever tenant. Throws CommandError when there is no such application. */
export async function setApplicationStatus(clientId: string, verb: Verb, terminal: Terminal): Promise<void> {
  const notFound = orNotFound(`There is no application ${clientId}.`);
  await setStatus(verb, terminal, async (clientOf, call, status) => {
    const found = await clientOf(DirectoryService).getApplication({ clientId }, call).catch(notFound);
    const tenantId = found.tenant?.tenantId ?? '';
    await clientOf(DirectoryAdminService)
      .setApplicationStatus({ tenantId, clientId, status }, call)
      .catch(notFound);
    return `The application ${clientId} of the tenant ${tenantId}`;
  });
}

/**
 * Sets the status of a person, whom the user name, e-mail address or phone number names. Throws CommandError when there is
 * no such person.
 */
export async function setUserStatus(
  { tenantId, identifier }: { readonly tenantId: string; readonly identifier: string },
  verb: Verb,
  terminal: Terminal,
): Promise<void> {
  const notFound = orNotFound(`There is no user ${identifier} in the tenant ${tenantId}.`);
  await setStatus(verb, terminal, async (clientOf, call, status) => {
    const found = await clientOf(DirectoryService).findUser({ tenantId, identifier }, call).catch(notFound);
    const { userId = '', username = '' } = found.user ?? {};
    await clientOf(DirectoryAdminService).setUserStatus({ tenantId, userId, status }, call).catch(notFound);
    return `The user ${username} of the tenant ${tenantId}`;
  });
}

/** `set` answers what it is whose status it set, for the person at the terminal. */
async function setStatus(
  verb: Verb,
  terminal: Terminal,
  set: (clientOf: ClientOf, call: CallOptions, status: Status) => Promise<string>,
): Promise<void> {
  const { name, status, done } = verbs[verb];
  const what = await withService('directory', terminal, {
    name,
    instead: ' Embedded stores are open to their process alone.',
    timeoutMs,
    run: (clientOf, call) => set(clientOf, call, status),
  });
  terminal.say(`${what} ${done}.\n`);
}
