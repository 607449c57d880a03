/** A migration as a schema has it on record. */
export interface RecordedMigration {
  readonly version: number;
  readonly name: string;
  /** SHA-256 of its text, hexadecimal. */
  readonly checksum: string;
}

/** A file that makes in one go what the migrations of a release made one after the other. */
export interface Baseline {
  readonly release: string;
  /**
   * Those migrations. An empty schema gets them on record with the baseline, so that a process of that release starts
   * on it too.
   */
  readonly replaced: readonly RecordedMigration[];
}

const title = /^-- Baseline of version (\d+\.\d+\.\d+)\b/;
const entry = /^-- ((\d{4})_[a-z0-9_]+\.sql) ([0-9a-f]{64})$/gm;

/** What the first lines of a file say of it; undefined if it is no baseline. */
export function baselineOf(sql: string): Baseline | undefined {
  const [, release] = title.exec(sql) ?? [];
  if (release === undefined) return undefined;
  const replaced = Array.from(sql.matchAll(entry), ([, name = '', version, checksum = '']) => ({
    version: Number(version),
    name,
    checksum,
  }));
  return { release, replaced };
}
