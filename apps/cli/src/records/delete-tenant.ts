import { TenantContentsSchema, TenantsService, type TenantContents } from '@tessera/proto-gen/admin-tenants';
import { orNotFound, withService } from '../operate/records/with-service.ts';
import { CommandError, type Terminal } from '../terminal.ts';

interface DeletionOptions {
  readonly tenant?: string;
  /** Its identifier again. */
  readonly everythingIn?: string;
  readonly etag?: string;
  readonly takeOver?: boolean;
  readonly owner?: string;
  readonly validateOnly?: boolean;
}

/** For one part. */
const timeoutMs = 60_000;
/** After which it says how far it is. */
const silenceMs = 2000;

/**
 * Deletes a tenant with what is in it, part by part, and says what that is. It goes on where an earlier one stopped.
 * Throws CommandError.
 */
export async function deleteTenant(options: DeletionOptions, terminal: Terminal): Promise<void> {
  const { tenant: tenantId = '', everythingIn, validateOnly = false } = options;
  if (everythingIn !== tenantId)
    throw new CommandError(`--everything-in names ${everythingIn}, and not the tenant ${tenantId}.`, 2);
  const { takeOver = false, owner = '', etag = '' } = options;
  const request = { tenantId, force: true, takeOver, owner };
  await withService('directory', terminal, {
    name: 'Deleting the tenant',
    changes: !validateOnly,
    saysWhere: true,
    timeoutMs,
    async run(clientOf, call) {
      const tenants = clientOf(TenantsService);
      const counted = { ...request, etag, validateOnly: true };
      const { contents } = await tenants
        .delete(counted, call)
        .catch(orNotFound(`There is no tenant ${tenantId}.`));
      terminal.say(`The tenant ${tenantId} has: ${described(contents)}.\n`);
      if (validateOnly) return;
      let saidAt = terminal.now();
      let isFirst = true;
      for (let deleted = 0, more = true; more;) {
        // The first part changes its version.
        const answer = await tenants.delete({ ...request, etag: isFirst ? etag : '' }, call);
        isFirst = false;
        more = answer.more;
        deleted += sum(answer.contents);
        if (!more || terminal.now() - saidAt < silenceMs) continue;
        terminal.say(`${deleted} of ${sum(contents)} records are deleted.\n`);
        saidAt = terminal.now();
      }
    },
  });
  terminal.say(validateOnly ? 'Nothing was changed.\n' : `The tenant ${tenantId} is deleted.\n`);
}

/** What is counted under another name than people know it by. */
const names: Readonly<Record<string, string>> = { resources: 'API resources' };

function kindsOf(contents: Partial<TenantContents>): Readonly<Record<string, number>> {
  const counts = contents as Readonly<Record<string, unknown>>;
  return Object.fromEntries(
    TenantContentsSchema.fields.map(({ localName: name }) => [
      names[name] ?? name,
      Number(counts[name] ?? 0),
    ]),
  );
}

function sum(contents: Partial<TenantContents> = {}): number {
  return Object.values(kindsOf(contents)).reduce((total, count) => total + count, 0);
}

function described(contents: Partial<TenantContents> = {}): string {
  const kinds = Object.entries(kindsOf(contents)).filter(([, count]) => count > 0);
  return kinds.map(([kind, count]) => `${kind} ${count}`).join(', ') || 'no records';
}
