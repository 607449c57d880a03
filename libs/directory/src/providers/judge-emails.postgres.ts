import type { Command } from '../ground/command.ts';
import type { JudgedPerson } from './judge-emails.ts';

/** Writes whether the addresses of people are verified; who proved them stays. */
export function putJudgements(judged: readonly JudgedPerson[]): Command {
  return async (write) => {
    await write(
      'put_judgements',
      `UPDATE directory.user_account u
          SET standard_claims = CASE WHEN j."isVerified" THEN u.standard_claims || '{"emailVerified": true}'
                                     ELSE u.standard_claims - 'emailVerified' END,
              updated_at = clock_timestamp()
         FROM jsonb_to_recordset($2::jsonb) AS j("userId" text, "isVerified" boolean)
        WHERE u.tenant_id = $1 AND u.user_id = j."userId"`,
      JSON.stringify(judged.map(({ user: { userId }, isVerified }) => ({ userId, isVerified }))),
    );
  };
}
