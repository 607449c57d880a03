import { Secret, uuid } from '@tessera/kit';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';

/**
 * How the command line reaches the process that has the embedded stores open, as nobody else can open them: a file beside the
 * stores, which their user alone can read.
 */
const contents = z.strictObject({
  /** `host:port` of the administration listener. */
  target: z.string().min(1),
  token: z.string().min(1),
});

export interface LocalAdministration {
  /** `host:port` */
  readonly target: string;
  /** Authenticates the caller `operator`. */
  readonly token: Secret;
}

const pathIn = (dataDirectory: string) => join(dataDirectory, 'administration.json');

/** Writes the file (mode 0600); the returned function removes it, unless a later process has replaced it. */
export async function announceAdministration(
  dataDirectory: string,
  { target, token }: LocalAdministration,
): Promise<() => Promise<void>> {
  const path = pathIn(dataDirectory);
  const text = `${JSON.stringify({ target, token: token.reveal() })}\n`;
  await mkdir(dataDirectory, { recursive: true });
  const draft = `${path}.${uuid()}`;
  await writeFile(draft, text, { mode: 0o600, flag: 'wx' });
  await rename(draft, path);
  return async () => {
    if ((await readFile(path, 'utf8').catch(() => '')) === text) await rm(path, { force: true });
  };
}

/** What a running process wrote; undefined without one. Throws Error for a file that it did not write. */
export async function findAdministration(dataDirectory: string): Promise<LocalAdministration | undefined> {
  const path = pathIn(dataDirectory);
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (text === undefined) return undefined;
  try {
    const { target, token } = contents.parse(JSON.parse(text));
    return { target, token: new Secret(token) };
  } catch {
    throw new Error(`${path} is not what a running process writes. Remove it and start the process again.`);
  }
}
