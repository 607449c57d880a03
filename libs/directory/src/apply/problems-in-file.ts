import { createSecretKey } from 'node:crypto';
import type { Problem } from '../declared/declared-state-error.ts';
import { whole } from '../declared/part.ts';
import type { ReadState } from '../declared/read.ts';
import { fileOwner } from '../fields/owner.ts';
import { planTenant } from '../plans/plan.ts';
import { ClientSecrets } from '../secrets/client-secrets.ts';
import { desiredState } from './desired-state.ts';
import { problemsOfPlans } from './guards/taken-in-file.ts';

/**
 * Why a directory without records would not apply a file that keeps the rules of each record: so `check` refuses what
 * `apply` refuses.
 */
export function problemsInFile(read: ReadState): Problem[] {
  let people = 0;
  const nothing = {
    owner: fileOwner,
    takeOver: false,
    part: whole,
    passwordHashes: new Map<string, string>(),
    clientSecrets: new Map<string, string>(),
    // Nothing is compared with these digests.
    secrets: new ClientSecrets(createSecretKey(Buffer.alloc(32))),
    newUserId: () => String((people += 1)),
  };
  const { tenants } = read.state;
  const plans = tenants.map((tenant) => {
    const desired = desiredState(tenant, undefined, nothing);
    // Whether an entry without a name is at the shared issuer is not known here.
    const issuer = tenant.name === undefined ? `of ${tenant.id}` : tenant.issuer;
    return planTenant(undefined, { ...desired, tenant: { ...desired.tenant, issuer } });
  });
  return problemsOfPlans(read, plans);
}
