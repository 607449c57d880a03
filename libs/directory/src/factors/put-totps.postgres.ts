import type { Command } from '../ground/command.ts';
import type { NewTotp } from './declared-totps.ts';

/** Gives people the authenticator apps that are declared for them, but those who have enrolled one themselves. */
export function putTotps(put: readonly NewTotp[]): Command {
  return async (write) => {
    await write(
      'put_declared_totps',
      `INSERT INTO directory.totp AS present (tenant_id, user_id, sealed, last_step, algorithm, digits, period, is_declared)
       SELECT $1, a."userId", a.sealed, 0, a.algorithm, a.digits, a.period, true
         FROM jsonb_to_recordset($2::jsonb)
           AS a("userId" text, sealed text, algorithm text, digits integer, period integer)
       ON CONFLICT (tenant_id, user_id) DO UPDATE
          SET sealed = excluded.sealed, last_step = 0, algorithm = excluded.algorithm, digits = excluded.digits,
              period = excluded.period, created_at = clock_timestamp()
        WHERE present.is_declared`,
      JSON.stringify(put),
    );
  };
}
