import { Secret, uuid } from '@tessera/kit';
import { constants } from 'node:fs';
import { mkdir, open, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';

/**
 * How the command line reaches the process that has the embedded stores open, as nobody else can open them: a file
 * beside the stores, which their user alone can read.
 */
const contents = z.strictObject({
  /** `host:port` of the administration listener. */
  target: z.string().min(1),
  token: z.string().min(1),
  /** Where people sign in. */
  issuer: z.string().min(1),
});

export interface LocalAdministration {
  /** `host:port` */
  readonly target: string;
  /** Authenticates the caller `operator`. */
  readonly token: Secret;
  /** Where people sign in. */
  readonly issuer: string;
}

const pathIn = (dataDirectory: string) => join(dataDirectory, 'administration.json');

/** Writes the file (mode 0600); the returned function removes it, unless a later process has replaced it. */
export async function announceAdministration(
  dataDirectory: string,
  { target, token, issuer }: LocalAdministration,
): Promise<() => Promise<void>> {
  const path = pathIn(dataDirectory);
  const text = `${JSON.stringify({ target, token: token.reveal(), issuer })}\n`;
  await mkdir(dataDirectory, { recursive: true });
  const draft = `${path}.${uuid()}`;
  await writeFile(draft, text, { mode: 0o600, flag: 'wx' });
  await rename(draft, path);
  return async () => {
    if ((await readFile(path, 'utf8').catch(() => '')) === text) await rm(path, { force: true });
  };
}

/**
 * What a running process wrote; undefined without one. Anybody may have made the folder that a command runs in: throws
 * Error, with what to change, for a file that is not the user's own and for nobody else to read, that names another
 * machine, or that no process wrote.
 */
export async function findAdministration(dataDirectory: string): Promise<LocalAdministration | undefined> {
  const path = pathIn(dataDirectory);
  const text = await readOwn(path);
  if (text === undefined) return undefined;
  const { success, data } = contents.safeParse(parsed(text));
  if (!success)
    throw new Error(`${path} is not what a running process writes. Remove it and start the process again.`);
  const { target, token, issuer } = data;
  if (!loopback.test(target))
    throw new Error(
      `${path} does not name an address of this machine. Set TESSERA_ADMIN_HOST to 127.0.0.1 and start the process again, or use tessera login.`,
    );
  return { target, token: new Secret(token), issuer };
}

/** By number: a name may lead to two processes. */
const loopback = /^(?:127\.0\.0\.1|\[::1\]):\d{1,5}$/;

/** The text of a file that only its user can have written and can read, checked on the open file. */
async function readOwn(path: string): Promise<string | undefined> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      if (error.code === 'ELOOP')
        throw new Error(`${path} is a link. Remove it and start the process again.`);
      throw error;
    },
  );
  if (file === undefined) return undefined;
  try {
    const status = await file.stat();
    if (!status.isFile()) throw new Error(`${path} is not a file. Remove it and start the process again.`);
    if (status.uid !== process.getuid?.())
      throw new Error(
        `${path} belongs to another user. Run the command as that user, or set TESSERA_DATA_DIR to a data directory of your own.`,
      );
    if ((status.mode & 0o777) !== 0o600)
      throw new Error(
        `${path} is not for its user alone, as a running process writes it (mode 0600). Remove it and start the process again.`,
      );
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
