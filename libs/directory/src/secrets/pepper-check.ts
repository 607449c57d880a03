import { createHmac, type KeyObject } from 'node:crypto';
import { needsOperator } from '@tessera/rpc';
import type { Database } from '@tessera/stores';
import type { Logger } from '@tessera/telemetry';

const mismatch =
  'TESSERA_DIRECTORY_PEPPER is not the pepper of the client secrets in this database: no client could authenticate. ' +
  'Start with the former one; to replace it, see "Rotate" in docs/operations.md';

const unproven =
  'This database has client secrets, but no record of their TESSERA_DIRECTORY_PEPPER. The first secret that matches ' +
  'sets it';

export interface PepperCheck {
  /**
   * Throws if the pepper differs from that of the database. A database without client secrets records the first pepper
   * it gets. One with secrets but without a record, because they are older than the record or the pepper is being
   * replaced, records the first pepper with which a secret matches; until then no pepper is known to be wrong.
   */
  require(): Promise<void>;
  /** As `require`, without recording a pepper. */
  look(): Promise<void>;
  /** Call it for each secret that matched: it was digested with this pepper. */
  prove(): Promise<void>;
}

/** Records the pepper unless there is a record; if there are secrets, only a proven one. */
const record = `
  INSERT INTO directory.pepper_check (digest)
  SELECT $1 WHERE $2 OR NOT EXISTS (SELECT 1 FROM directory.application_secret)
  ON CONFLICT (only_row) DO NOTHING`;

/** Compares the pepper with that of this database; after a match, the database is not asked again. */
export function createPepperCheck(database: Database, pepper: KeyObject, log: Logger): PepperCheck {
  const digest = createHmac('sha256', pepper).update('tessera.pepper_check.v1').digest('base64url');
  const logged = new Set<string>();
  let isRight = false;

  async function recorded(): Promise<string | undefined> {
    const { rows } = await database.query<{ digest: string }>({
      name: 'directory.pepper_check',
      text: 'SELECT digest FROM directory.pepper_check',
    });
    return rows[0]?.digest;
  }

  /** The record of the database, written now if that is allowed; undefined if there is none yet. */
  async function settled(isProven: boolean): Promise<string | undefined> {
    const found = await recorded();
    if (found !== undefined) return found;
    await database.query({ name: 'directory.record_pepper', text: record, values: [digest, isProven] });
    return recorded();
  }

  function logOnce(sentence: string, write: (sentence: string) => void): void {
    if (!logged.has(sentence)) write(sentence);
    logged.add(sentence);
  }

  function compare(found: string): void {
    isRight = found === digest;
    if (isRight) return;
    logOnce(mismatch, (line) => log.error({ event: 'directory.pepper_mismatch' }, line));
    throw needsOperator(mismatch);
  }

  return {
    async require() {
      if (isRight) return;
      const found = await settled(false);
      if (found !== undefined) compare(found);
      else logOnce(unproven, (line) => log.warn({ event: 'directory.pepper_unproven' }, line));
    },

    async look() {
      const found = isRight ? undefined : await recorded();
      if (found !== undefined) compare(found);
    },

    async prove() {
      if (!isRight) isRight = (await settled(true)) === digest;
    },
  };
}
