import { open, mkdir, link, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { randomBytes } from 'node:crypto';
import { Secret } from '@tessera/kit';

/**
 * A random secret, generated once and kept beside the embedded database (base64url, file mode 0600). For compact
 * without configuration; a deployment with its own database sets its secrets.
 */
export async function developmentSecret(dataDirectory: string, name: string, bytes = 32): Promise<Secret> {
  if (!/^[a-z][a-z0-9-]*$/.test(name)) throw new Error(`${name} is no name for a secret.`);
  const directory = join(dataDirectory, 'secrets');
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const path = join(directory, name);
  const found = await readIfThere(path);
  if (found !== undefined) return found;
  // Written under a temporary name and then linked: a reader never sees a partial file, and the first writer wins.
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  const file = await open(draft, 'wx', 0o600);
  try {
    await file.writeFile(randomBytes(bytes).toString('base64url'));
    await file.sync();
    await link(draft, path).catch((error: unknown) => {
      if (!hasCode(error, 'EEXIST')) throw error;
    });
  } finally {
    await file.close();
    await rm(draft, { force: true });
  }
  return (await readIfThere(path)) ?? Promise.reject(new Error(`The secret ${name} could not be kept.`));
}

async function readIfThere(path: string): Promise<Secret | undefined> {
  try {
    const text = (await readFile(path, 'utf8')).trim();
    if (text === '') throw new Error(`The file ${path} is empty. Remove it, so that a new secret is made.`);
    return new Secret(text);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
