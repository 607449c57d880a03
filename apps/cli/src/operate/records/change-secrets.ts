import { uuid } from '@tessera/kit';
import { ApplicationsService } from '@tessera/proto-gen/admin-applications';
import { CommandError, type Terminal } from '../../terminal.ts';
import { orNotFound, withService } from './with-service.ts';

const timeoutMs = 10_000;

interface OfApplication {
  readonly tenant: string;
  readonly clientId: string;
  readonly takeOver: boolean;
  readonly owner?: string | undefined;
}

/**
 * Adds a secret, which the server makes, and prints it, this once. Throws CommandError, also if the application has
 * two.
 */
export async function createSecret(
  { tenant: tenantId, clientId, takeOver, owner = '', expires }: OfApplication & { readonly expires?: Date },
  terminal: Terminal,
): Promise<void> {
  const requestId = uuid();
  const expireTime = expires && { seconds: BigInt(Math.floor(expires.getTime() / 1000)), nanos: 0 };
  const { secretId, value } = await withService('directory', terminal, {
    name: 'Making a secret',
    changes: true,
    timeoutMs,
    run: async (clientOf, call) =>
      clientOf(ApplicationsService)
        .createSecret(
          { tenantId, clientId, takeOver, owner, requestId, ...(expireTime && { expireTime }) },
          call,
        )
        .catch(orNotFound(unknown(tenantId, clientId))),
  });
  // The repeat of a call whose answer was lost does not bring the value again.
  if (value === '') {
    throw new CommandError(
      `The secret ${secretId} was made, but its value was lost on the way. Delete it and make another.`,
    );
  }
  terminal.say(`The secret ${secretId} of ${clientId} is valid at once; it is not shown again.\n`);
  terminal.out(`${value}\n`);
}

/** Ends a secret within a second. Throws CommandError. */
export async function deleteSecret(
  {
    tenant: tenantId,
    clientId,
    takeOver,
    owner = '',
    secretId,
  }: OfApplication & { readonly secretId: string },
  terminal: Terminal,
): Promise<void> {
  await withService('directory', terminal, {
    name: 'Deleting the secret',
    changes: true,
    timeoutMs,
    run: async (clientOf, call) =>
      clientOf(ApplicationsService)
        .deleteSecret({ tenantId, clientId, secretId, takeOver, owner }, call)
        .catch(orNotFound(`${unknown(tenantId, clientId)} Or it has no secret ${secretId}.`)),
  });
  terminal.say(`The secret ${secretId} of ${clientId} is deleted.\n`);
}

const unknown = (tenantId: string, clientId: string) =>
  `There is no application ${clientId} in the tenant ${tenantId}.`;
