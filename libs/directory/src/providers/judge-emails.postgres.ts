import { isDeepStrictEqual } from 'node:util';
import { domainOfEmail } from '@tessera/kit';
import type { Command } from '../ground/command.ts';
import { normalizeIdentifier } from '../users/identifiers.ts';
import { providerColumns, type ProviderRecord } from './fields.ts';
import { vouchesFor } from './vouches.ts';

/** A provider that proved addresses of a domain. */
interface Proof {
  readonly provider: string;
  readonly issuer: string;
  readonly domain: string;
}

/** An address that is verified and should not be, or the reverse. */
interface Judged {
  readonly userId: string;
  readonly email: string;
  /** What was proven. */
  readonly identifier: string;
  readonly holds: boolean;
}

/**
 * After a change of providers, or once people are restored: an address that a provider proved is verified as long as it may say so. What a
 * link proved that was mailed there, or what an administrator says, stays as it is.
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
    const judgements = JSON.stringify(proofs.map((proof) => ({ ...proof, holds: holds(proof, all) })));
    for (let after: string | undefined = ''; after !== undefined;) {
      const { rows: page } = await write('emails_to_judge', toJudge, judgements, after);
      const found = page as unknown as readonly Judged[];
      // Postgres compares no spellings of Unicode and of domains.
      const judged = found.filter(({ email, identifier }) => normalizeIdentifier(email) === identifier);
      const put = judged.map(({ userId, holds: isHeld }) => ({ userId, holds: isHeld }));
      if (put.length > 0) await write('judge_emails', judge, JSON.stringify(put));
      after = found.length < pageSize ? undefined : found.at(-1)?.userId;
    }
  };
}

/** People of a page. */
const pageSize = 1_000;

/** $2: what holds, by provider and domain. $3: the last person of the page before. */
const toJudge = `
  SELECT u.user_id AS "userId", u.email, p.identifier, j.holds
    FROM directory.email_proof p
    JOIN directory.user_account u ON u.tenant_id = p.tenant_id AND u.user_id = p.user_id
    JOIN jsonb_to_recordset($2::jsonb) AS j(provider text, issuer text, domain text, holds boolean)
      ON j.provider = p.provider AND j.issuer = p.issuer AND j.domain = split_part(p.identifier, '@', 2)
   WHERE p.tenant_id = $1 AND p.user_id > $3 AND (u.standard_claims ? 'emailVerified') <> j.holds
   ORDER BY p.user_id LIMIT ${pageSize}`;

const judge = `
  UPDATE directory.user_account u
     SET standard_claims = CASE WHEN j.holds THEN u.standard_claims || '{"emailVerified": true}'
                                ELSE u.standard_claims - 'emailVerified' END,
         updated_at = clock_timestamp()
    FROM jsonb_to_recordset($2::jsonb) AS j("userId" text, holds boolean)
   WHERE u.tenant_id = $1 AND u.user_id = j."userId"`;

/** Whether a provider may vouch for other addresses than before: neither a new secret nor a new name to show is such a change. */
export function vouchesOtherwise(before: ProviderRecord, after: ProviderRecord): boolean {
  return before.issuer !== after.issuer || !isDeepStrictEqual(before.domains, after.domains);
}

/** What a provider proved that is gone holds unless another one has the domain now. */
function holds({ provider, issuer, domain }: Proof, all: readonly ProviderRecord[]): boolean {
  const present = all.find((one) => one.name === provider && one.issuer === issuer);
  return vouchesFor(present ?? { domains: [] }, domainOfEmail(`x@${domain}`), all);
}
