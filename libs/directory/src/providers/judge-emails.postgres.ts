import { isDeepStrictEqual } from 'node:util';
import { domainOfEmail } from '@tessera/kit';
import type { Command } from '../ground/command.ts';
import { providerColumns, type ProviderRecord } from './fields.ts';
import { vouchesFor } from './vouches.ts';

/** A provider that proved addresses of a domain. */
interface Proof {
  readonly provider: string;
  readonly issuer: string;
  readonly domain: string;
}

/**
 * After a change of providers: an address that one of them proved is verified as long as it may say so. What a link proved that was mailed
 * there, or what an administrator says, stays as it is.
 */
export function judgeEmails(): Command {
  return async (write) => {
    const { rows: proving } = await write(
      'providers_that_proved',
      `SELECT DISTINCT provider, issuer, split_part(identifier, '@', 2) AS domain
         FROM directory.email_proof WHERE tenant_id = $1 AND provider <> ''`,
    );
    if (proving.length === 0) return;
    const proofs = proving as unknown as readonly Proof[];
    const { rows } = await write(
      'providers_now',
      `SELECT ${providerColumns.selected} FROM directory.provider p WHERE p.tenant_id = $1`,
    );
    const all = rows.map(providerColumns.read);
    await write(
      'judge_emails',
      `UPDATE directory.user_account u
          SET standard_claims = CASE WHEN j.holds THEN u.standard_claims || '{"emailVerified": true}'
                                     ELSE u.standard_claims - 'emailVerified' END,
              updated_at = clock_timestamp()
         FROM directory.email_proof p
         JOIN jsonb_to_recordset($2::jsonb) AS j(provider text, issuer text, domain text, holds boolean)
           ON j.provider = p.provider AND j.issuer = p.issuer AND j.domain = split_part(p.identifier, '@', 2)
        WHERE p.tenant_id = $1 AND u.tenant_id = p.tenant_id AND u.user_id = p.user_id
          AND lower(u.email) = p.identifier AND (u.standard_claims ? 'emailVerified') <> j.holds`,
      JSON.stringify(proofs.map((proof) => ({ ...proof, holds: holds(proof, all) }))),
    );
  };
}

/** Whether a provider may vouch for other addresses than before: neither a new secret nor a new name to show is such a change. */
export function vouchesOtherwise(before: ProviderRecord, after: ProviderRecord): boolean {
  return before.issuer !== after.issuer || !isDeepStrictEqual(before.domains, after.domains);
}

/** What a provider proved that is gone holds unless another one has the domain now. */
function holds({ provider, issuer, domain }: Proof, all: readonly ProviderRecord[]): boolean {
  const present = all.find((one) => one.name === provider && one.issuer === issuer);
  return vouchesFor(present ?? { domains: [] }, domainOfEmail(`x@${domain}`), all);
}
