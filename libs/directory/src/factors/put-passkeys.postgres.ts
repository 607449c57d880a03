import { secondFactorsOfUser } from '../ground/second-factors-of-user.ts';
import type { Command } from '../ground/command.ts';
import type { DeclaredPasskey } from './declared-passkey.ts';

/** A declared passkey, with whose it is. */
export interface PutPasskey extends DeclaredPasskey {
  readonly userId: string;
}

/** One that was declared, and no longer is. */
export type WithheldPasskey = Pick<PutPasskey, 'credentialId' | 'userId'>;

/** Takes declared passkeys from people; what they have set up themselves stays. */
export function withholdPasskeys(withheld: readonly WithheldPasskey[]): Command {
  return async (write) => {
    await write(
      'withhold_declared_passkeys',
      `DELETE FROM directory.passkey k
        USING jsonb_to_recordset($2::jsonb) AS g("credentialId" text, "userId" text)
        WHERE k.tenant_id = $1 AND k.credential_id = g."credentialId" AND k.user_id = g."userId"`,
      JSON.stringify(withheld),
    );
  };
}

/** Recovery codes go with the last second factor. */
export function forgetRecoveryCodes(userIds: readonly string[]): Command {
  return async (write) => {
    await write(
      'forget_recovery_codes',
      `DELETE FROM directory.recovery_code r
        USING (SELECT u.user_id, ${secondFactorsOfUser}
                 FROM directory.user_account u WHERE u.tenant_id = $1 AND u.user_id = ANY($2::text[])) AS person
        WHERE r.tenant_id = $1 AND r.user_id = person.user_id AND cardinality(person.second_factors) = 0`,
      userIds,
    );
  };
}

/** Gives people the passkeys that are declared for them, but those that the tenant has. */
export function putPasskeys(put: readonly PutPasskey[]): Command {
  return async (write) => {
    await write(
      'put_declared_passkeys',
      `INSERT INTO directory.passkey
         (tenant_id, credential_id, user_id, user_handle, rp_id, public_key, sign_count, transports, synced, backed_up, name, synced_known)
       SELECT $1, k."credentialId", k."userId", k."userHandle", k."rpId", decode(k."publicKeyHex", 'hex'), k."signCount",
              k.transports, false, false,
              'Passkey ' || to_char(statement_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD'), false
         FROM jsonb_to_recordset($2::jsonb)
           AS k("credentialId" text, "userId" text, "userHandle" text, "rpId" text, "publicKeyHex" text,
                "signCount" bigint, transports text[])
       ON CONFLICT (tenant_id, credential_id) DO NOTHING`,
      JSON.stringify(
        put.map(({ publicKey, ...passkey }) => ({
          ...passkey,
          publicKeyHex: Buffer.from(publicKey, 'base64url').toString('hex'),
        })),
      ),
    );
  };
}
