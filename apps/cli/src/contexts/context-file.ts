import { constants } from 'node:fs';
import { mkdir, open, rename, rm, writeFile, type FileHandle } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { uuid } from '@tessera/kit';
import { z } from 'zod';
import type { OAuthClient } from '../oauth/acting-client.ts';
import { CommandError, type Terminal } from '../terminal.ts';

const login = z.strictObject({
  accessToken: z.string(),
  /** Milliseconds since the Unix epoch. */
  expiresAt: z.number(),
  refreshToken: z.string().optional(),
});

const context = z.strictObject({
  /** Where administration is served, such as http://127.0.0.1:9002. */
  api: z.string(),
  /** Where its administrators sign in. */
  issuer: z.string(),
  /** The tenant that has this issuer of its own; absent: the operator tenant. */
  tenant: z.string().optional(),
  /** Of commands that name none; it says nothing of the issuer. */
  defaultTenant: z.string().optional(),
  /** PEM file of the authority that signed the certificate of the API. */
  caFile: z.string().optional(),
  /** The name in that certificate, where it is reached by another one. */
  serverName: z.string().optional(),
  /** The application that logs in, in place of a person, and the file with its secret or the token of its platform. */
  client: z
    .union([
      z.strictObject({ clientId: z.string(), secretFile: z.string() }),
      z.strictObject({ clientId: z.string().optional(), tokenFile: z.string() }),
    ])
    .optional(),
  login: login.optional(),
});

const contexts = z.strictObject({
  current: z.string().optional(),
  contexts: z.record(z.string(), context).default({}),
});

export type Login = z.infer<typeof login>;
export type Context = z.infer<typeof context>;
export type Contexts = z.infer<typeof contexts>;

/** A context that was chosen. */
export interface NamedContext extends Context {
  readonly name: string;
  /** PEM of the authority that signed the certificate of the API, in place of `caFile`. */
  readonly ca?: string;
  /** The application that the environment names. */
  readonly givenClient?: OAuthClient;
}

/** The context of the process whose data directory is at hand. */
export const localContext = 'local';
/** The context that the environment says. */
export const environmentContext = 'environment';

/** The file in the user's configuration folder (XDG Base Directory); undefined where nobody has one. */
function pathOf({ environment }: Pick<Terminal, 'environment'>): string | undefined {
  const { XDG_CONFIG_HOME: configured = '', HOME: home = '' } = environment;
  if (isAbsolute(configured)) return join(configured, 'tessera', 'contexts.json');
  return isAbsolute(home) ? join(home, '.config', 'tessera', 'contexts.json') : undefined;
}

/** What is stored. Throws CommandError for a file that others can read, or that this command did not write. */
export async function readContexts(terminal: Pick<Terminal, 'environment'>): Promise<Contexts> {
  const path = pathOf(terminal);
  const file = path === undefined ? undefined : await openIfThere(path);
  if (path === undefined || file === undefined) return { contexts: {} };
  try {
    const leaked = '; if somebody has read it, tessera logout ends the login';
    await requireOwn(file, path, { content: 'your login', leaked });
    const parsed = contexts.safeParse(parsedJson(await file.readFile('utf8')));
    if (!parsed.success)
      throw new CommandError(`${path} is not what tessera login writes. Remove it and log in again.`);
    return parsed.data;
  } finally {
    await file.close();
  }
}

/** Throws CommandError for an open file with secrets that others can read, or have written. */
export async function requireOwn(
  file: FileHandle,
  path: string,
  { content, leaked = '' }: { readonly content: string; readonly leaked?: string },
): Promise<void> {
  const { mode, uid } = await file.stat();
  const own = process.getuid?.();
  // Without user ids, as on Windows, the folder of the user protects the file.
  if (own === undefined) return;
  if ((mode & 0o077) !== 0)
    throw new CommandError(`Others can read ${path}, which has ${content}. Run chmod 600 ${path}${leaked}.`);
  if (uid !== own) throw new CommandError(`${path} belongs to another user of this machine.`);
}

/** Changes what is stored, as it is now. Throws CommandError. */
export async function changeContexts(
  terminal: Pick<Terminal, 'environment'>,
  change: (present: Contexts) => Contexts,
): Promise<void> {
  const path = pathOf(terminal);
  if (path === undefined)
    throw new CommandError('There is no place to keep a login: set HOME or XDG_CONFIG_HOME.');
  const changed = change(await readContexts(terminal));
  await mkdir(join(path, '..'), { recursive: true, mode: 0o700 });
  // A reader never sees a part of it.
  const draft = `${path}.${uuid()}`;
  try {
    await writeFile(draft, `${JSON.stringify(changed, null, 2)}\n`, { mode: 0o600, flag: 'wx' });
    await rename(draft, path);
  } finally {
    await rm(draft, { force: true });
  }
}

async function openIfThere(path: string) {
  try {
    return await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    throw new CommandError(`${path} cannot be read (${String(code)}).`);
  }
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
