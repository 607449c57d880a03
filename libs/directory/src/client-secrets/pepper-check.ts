import { createHmac, type KeyObject } from 'node:crypto';
import type { Database } from '@tessera/stores';
import type { Logger } from '@tessera/telemetry';
import { temporarilyUnavailable } from '@tessera/oauth';

const mismatch =
  'TESSERA_DIRECTORY_PEPPER is not the one that the client secrets in this database were digested with: no client could ' +
  'authenticate. Start with the former one; to replace it, see "Rotate" in docs/operations.md';

const unproven =
  'This database has client secrets, and nothing that tells which TESSERA_DIRECTORY_PEPPER they were digested with. The first ' +
  'secret that proves right fixes it';

export interface PepperCheck {
  /**
   * Resolves unless the pepper is known to be another than that of the database, which throws. A database without client
   * secrets takes the first pepper that comes. One that has secrets but no record yet, because they are older than the
   * record or the pepper is being replaced, takes the first one under which a secret proves right: until then no pepper can
   * be called wrong.
   */
  require(): Promise<void>;
  /** As `require`, and makes no pepper that of the database. */
  look(): Promise<void>;
  /** To be told of each stored secret that was right: it was digested with this pepper. */
  prove(): Promise<void>;
}

/** Takes the pepper for that of the database, unless there is one; where secrets are stored, only a proven one. */
const record = `
  INSERT INTO directory.pepper_check (digest)
  SELECT $1 WHERE $2 OR NOT EXISTS (SELECT 1 FROM directory.application_secret)
  ON CONFLICT (only_row) DO NOTHING`;

/** Holds the pepper against the one of this database; once it was right, nothing is asked again. */
export function createPepperCheck(database: Database, pepper: KeyObject, log: Logger): PepperCheck {
  const digest = createHmac('sha256', pepper).update('tessera.pepper_check.v1').digest('base64url');
  const said = new Set<string>();
  let isRight = false;

  async function recorded(): Promise<string | undefined> {
    const { rows } = await database.query<{ digest: string }>({
      name: 'directory.pepper_check',
      text: 'SELECT digest FROM directory.pepper_check',
    });
    return rows[0]?.digest;
  }

  /** The record of the database, made now where it may be; undefined where there is none yet. */
  async function settled(isProven: boolean): Promise<string | undefined> {
    const found = await recorded();
    if (found !== undefined) return found;
    await database.query({ name: 'directory.record_pepper', text: record, values: [digest, isProven] });
    return recorded();
  }

  function sayOnce(sentence: string, say: (sentence: string) => void): void {
    if (!said.has(sentence)) say(sentence);
    said.add(sentence);
  }

  function hold(found: string): void {
    isRight = found === digest;
    if (isRight) return;
    sayOnce(mismatch, (line) => log.error({ event: 'directory.pepper_mismatch' }, line));
    throw temporarilyUnavailable(new Error(mismatch));
  }

  return {
    async require() {
      if (isRight) return;
      const found = await settled(false);
      if (found !== undefined) hold(found);
      else sayOnce(unproven, (line) => log.warn({ event: 'directory.pepper_unproven' }, line));
    },

    async look() {
      const found = isRight ? undefined : await recorded();
      if (found !== undefined) hold(found);
    },

    async prove() {
      if (!isRight) isRight = (await settled(true)) === digest;
    },
  };
}
