import { createHmac, type KeyObject } from 'node:crypto';
import type { Database, Logger } from '@tessera/kit';
import { temporarilyUnavailable } from '@tessera/oauth';

const mismatch =
  'TESSERA_DIRECTORY_PEPPER is not the one that the client secrets in this database were digested with: no client could ' +
  'authenticate. Start with the former one; to replace it, see "Rotate" in docs/operations.md';

export interface PepperCheck {
  /** Resolves when the pepper is that of the database, or is its first one. Throws when it is another. */
  require(): Promise<void>;
}

/** Holds the pepper against the one with which this database was begun; once it was right, nothing is asked again. */
export function createPepperCheck(database: Database, pepper: KeyObject, log: Logger): PepperCheck {
  const digest = createHmac('sha256', pepper).update('tessera.pepper_check.v1').digest('base64url');
  let isRight = false;
  let isSaid = false;

  async function recorded(): Promise<string | undefined> {
    const { rows } = await database.query<{ digest: string }>({
      name: 'directory.pepper_check',
      text: 'SELECT digest FROM directory.pepper_check',
    });
    return rows[0]?.digest;
  }

  async function record(): Promise<string | undefined> {
    await database.query({
      name: 'directory.record_pepper',
      text: 'INSERT INTO directory.pepper_check (digest) VALUES ($1) ON CONFLICT (only_row) DO NOTHING',
      values: [digest],
    });
    return recorded();
  }

  return {
    async require() {
      if (isRight) return;
      isRight = ((await recorded()) ?? (await record())) === digest;
      if (isRight) return;
      if (!isSaid) log.error({ event: 'directory.pepper_mismatch' }, mismatch);
      isSaid = true;
      throw temporarilyUnavailable(new Error(mismatch));
    },
  };
}
