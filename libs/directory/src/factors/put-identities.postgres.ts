import type { Command } from '../ground/command.ts';

/** What a person is declared to sign in with at a provider. */
export interface PutIdentity {
  readonly provider: string;
  readonly issuer: string;
  readonly subject: string;
  readonly userId: string;
}

/** Binds people to what is declared, but to what is somebody's, and those who have another one at the provider. */
export function putIdentities(put: readonly PutIdentity[]): Command {
  return async (write) => {
    await write(
      'put_declared_identities',
      `INSERT INTO directory.provider_identity (tenant_id, provider, issuer, subject, user_id)
       SELECT $1, i.provider, i.issuer, i.subject, i."userId"
         FROM jsonb_to_recordset($2::jsonb) AS i(provider text, issuer text, subject text, "userId" text)
       ON CONFLICT DO NOTHING`,
      JSON.stringify(put),
    );
  };
}

/** Takes from people what they were declared to sign in with. */
export function withholdIdentities(withheld: readonly PutIdentity[]): Command {
  return async (write) => {
    await write(
      'withhold_declared_identities',
      `DELETE FROM directory.provider_identity p
        USING jsonb_to_recordset($2::jsonb) AS i(provider text, issuer text, subject text, "userId" text)
        WHERE p.tenant_id = $1 AND p.provider = i.provider AND p.issuer = i.issuer AND p.subject = i.subject
          AND p.user_id = i."userId"`,
      JSON.stringify(withheld),
    );
  };
}
