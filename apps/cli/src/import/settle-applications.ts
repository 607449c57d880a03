import { randomBytes } from 'node:crypto';
import { shortestSecret } from '@tessera/directory';
import { ApplicationsService, type ApplicationSecret } from '@tessera/proto-gen/admin-applications';
import { readPages } from '@tessera/rpc/caller';
import type { Terminal } from '../terminal.ts';
import type { Entry, Imported } from './files/imported.ts';
import type { PresentTenant } from './present-tenant.ts';
import type { ReachedDirectory } from './reached-directory.ts';

/** An import in which each application has what depends on what is here. */
interface Settled {
  readonly imported: Imported;
  /** New secrets, by application. */
  readonly made: ReadonlyMap<string, string>;
  /** Why an application gets one of these, by its identifier. */
  readonly secretsFor: ReadonlyMap<string, string>;
  /** A line for each application that keeps the secret that it has here. */
  readonly keptLines: readonly string[];
  /** Applications that are disabled here and stay so. */
  readonly stayDisabled: ReadonlySet<string>;
}

interface PresentApplication {
  readonly status: string;
  readonly grantTypes: readonly string[];
}

const nothing: ReadonlyMap<string, PresentApplication> = new Map();

/**
 * Makes a secret for each application that needs one, unless it has one here that has not expired: that one stays, so
 * that a repeated import changes nothing. A short secret ends none that stands here for longer. An application that
 * waited here for redirect URIs, and has some now, is enabled.
 */
export async function settleApplications(
  imported: Imported,
  { tenantId, present }: { readonly tenantId: string; readonly present: PresentTenant },
  directory: ReachedDirectory,
  { now }: Pick<Terminal, 'now'>,
): Promise<Settled> {
  const isAsked = present.exists && imported.records.applications.length > 0;
  const here = isAsked ? await presentApplications(tenantId, directory) : nothing;
  const secretsFor = new Map<string, string>();
  const made = new Map<string, string>();
  const keptLines: string[] = [];
  const isValid = ({ expireTime }: ApplicationSecret) =>
    expireTime === undefined || Number(expireTime.seconds) * 1000 > now();
  for (const [clientId, why] of imported.newSecrets ?? [])
    if (here.has(clientId) && (await hasSecret({ tenantId, clientId }, directory, isValid)))
      keptLines.push(
        `secret of application ${clientId}: ${why}; the one that it has here stays, and tessera secret create makes another`,
      );
    else {
      secretsFor.set(clientId, why);
      made.set(clientId, randomBytes(32).toString('base64url'));
    }
  const replaced = new Set<string>();
  for (const { clientId: id, secrets } of imported.records.applications) {
    const clientId = String(id);
    if (!hasShort(secrets) || !here.has(clientId)) continue;
    if (!(await hasSecret({ tenantId, clientId }, directory, ({ expireTime }) => expireTime === undefined)))
      continue;
    replaced.add(clientId);
    keptLines.push(`short secret of application ${clientId}: the secrets that it has here stay`);
  }
  const stayDisabled = new Set<string>();
  const applications = imported.records.applications.map((application): Entry => {
    const clientId = String(application['clientId']);
    const value = made.get(clientId);
    const known = here.get(clientId);
    const isOff = known?.status === 'disabled' && application['status'] === undefined;
    const hasWaited = isOff && isCode(application['grantTypes']) && !isCode(known.grantTypes);
    if (isOff && !hasWaited) stayDisabled.add(clientId);
    const { secrets: _given, ...others } = application;
    return {
      ...(replaced.has(clientId) ? others : application),
      ...(hasWaited && { status: 'active' }),
      ...(value !== undefined && { secrets: [{ value }] }),
    };
  });
  const settled = { ...imported, records: { ...imported.records, applications } };
  return { imported: settled, made, secretsFor, keptLines, stayDisabled };
}

/** Whether a short secret is among those that come, for which one without an end may stand here already. */
function hasShort(secrets: unknown): boolean {
  return (
    Array.isArray(secrets) && (secrets as Entry[]).some(({ value }) => String(value).length < shortestSecret)
  );
}

function isCode(grantTypes: unknown): boolean {
  return Array.isArray(grantTypes) && grantTypes.includes('authorization_code');
}

async function presentApplications(
  tenantId: string,
  directory: ReachedDirectory,
): Promise<ReadonlyMap<string, PresentApplication>> {
  return directory.call(async (clientOf, call) => {
    const { found } = await readPages(async (page) => {
      const answer = await clientOf(ApplicationsService).list({ tenantId, ...page }, call);
      const listed = answer.applications.map(
        ({ clientId, status, grantTypes }) => [clientId, { status, grantTypes }] as const,
      );
      return { found: listed, nextPageToken: answer.nextPageToken };
    });
    return new Map(found);
  });
}

async function hasSecret(
  of: { readonly tenantId: string; readonly clientId: string },
  directory: ReachedDirectory,
  counts: (secret: ApplicationSecret) => boolean,
): Promise<boolean> {
  const { secrets } = await directory.call(async (clientOf, call) =>
    clientOf(ApplicationsService).listSecrets(of, call),
  );
  return secrets.some(counts);
}
