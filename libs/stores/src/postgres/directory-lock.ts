import { open, readFile, rm } from 'node:fs/promises';
import { resolve } from 'node:path';

/** Directories that this process holds. A file with our own id that is not among them is of an earlier life (process 1). */
const held = new Set<string>();

/**
 * Makes this process the only one that uses a directory, by a file beside it that holds the process id. A file left
 * behind by a process that no longer lives is taken over.
 * @throws Error when another living process holds it.
 */
export async function lockDirectory(directory: string): Promise<() => Promise<void>> {
  const path = `${resolve(directory)}.lock`;
  for (let attempt = 0; attempt < 3; attempt += 1) {
    try {
      const file = await open(path, 'wx', 0o600);
      await file.writeFile(String(process.pid));
      await file.close();
      held.add(path);
      return async () => {
        held.delete(path);
        await rm(path, { force: true });
      };
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    }
    const holder = Number(await readFile(path, 'utf8').catch(() => ''));
    if (held.has(path) || (holder !== process.pid && isAlive(holder))) {
      throw new Error(
        `The directory ${directory} is in use by process ${holder}. End it, or give this process another ` +
          `TESSERA_DATA_DIR. Should that process have nothing to do with it, remove ${path}.`,
      );
    }
    await rm(path, { force: true });
  }
  throw new Error(`The directory ${directory} could not be locked. Remove ${path} if no process uses it.`);
}

function isAlive(processId: number): boolean {
  if (!Number.isSafeInteger(processId) || processId <= 0) return false;
  try {
    process.kill(processId, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
