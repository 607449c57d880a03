import { randomUUID } from 'node:crypto';
import { link, readFile, rm, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Locks of this process. A lock file with our own id that is not among them is from an earlier process with this id.
 */
const held = new Set<string>();

const takeoverAttempts = 40;
const takeoverPauseMs = 50;

/**
 * Makes this process the only one that uses a directory, with a file beside it that holds the process id. The lock of a
 * process that no longer runs is taken over.
 * @throws Error when another running process holds it
 */
export async function lockDirectory(directory: string): Promise<() => Promise<void>> {
  const path = `${resolve(directory)}.lock`;
  const draft = `${path}.${randomUUID()}`;
  await writeFile(draft, String(process.pid), { mode: 0o600 });
  try {
    // Linked with its content, so that no other process reads an empty lock.
    if (!(await linked(draft, path))) await takeOver(directory, draft, path);
    held.add(path);
  } finally {
    await rm(draft, { force: true });
  }
  return async () => {
    held.delete(path);
    await rm(path, { force: true });
  };
}

/** A second lock guards the takeover: of several processes that find a stale lock, one replaces it. */
async function takeOver(directory: string, draft: string, path: string): Promise<void> {
  const guard = `${path}.takeover`;
  for (let attempt = 0; attempt < takeoverAttempts; attempt += 1) {
    await requireStale(directory, path);
    if (!(await linked(draft, guard))) {
      await sleep(takeoverPauseMs);
      continue;
    }
    try {
      // The process that had the guard before may have replaced the lock since.
      await requireStale(directory, path);
      await rm(path, { force: true });
      if (await linked(draft, path)) return;
    } finally {
      await rm(guard, { force: true });
    }
  }
  throw new Error(
    `Cannot lock the directory ${directory}. If no process uses it, remove ${path} and ${guard}.`,
  );
}

/** @throws Error when a running process holds the lock */
async function requireStale(directory: string, path: string): Promise<void> {
  const holder = Number(await readFile(path, 'utf8').catch(() => ''));
  if (!held.has(path) && (holder === process.pid || !isAlive(holder))) return;
  throw new Error(
    `The directory ${directory} is in use by process ${holder}. Stop it, or give this process another ` +
      `TESSERA_DATA_DIR. If that process does not use the directory, remove ${path}.`,
  );
}

/** Whether the file got the further name; false if the name is taken. */
async function linked(file: string, name: string): Promise<boolean> {
  try {
    await link(file, name);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  }
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
