import { constants } from 'node:fs';
import { access, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { uuid } from '@tessera/kit';
import { CommandError } from '../../terminal.ts';
import { firstLine } from './report-page.ts';

/**
 * Throws CommandError unless a report may be written there: nothing is there yet, or an earlier report. Nothing else is
 * overwritten.
 */
export async function requireReportPlace(path: string): Promise<void> {
  await access(dirname(path), constants.W_OK).catch(() => {
    throw new CommandError(`Nothing can be written to ${dirname(path)}, where --report is.`, 2);
  });
  const file = await open(path, 'r').catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw new CommandError(`Cannot read the file ${path}.`);
  });
  if (file === undefined) return;
  try {
    const bytes = Buffer.alloc(Buffer.byteLength(firstLine));
    const { bytesRead } = await file.read(bytes, 0, bytes.length, 0);
    if (bytes.toString('utf8', 0, bytesRead) === firstLine) return;
  } catch {
    throw new CommandError(`Cannot read the file ${path}.`);
  } finally {
    await file.close();
  }
  throw new CommandError(`${path} is no report of tessera import, and stays. Give --report another name.`, 2);
}

/** Writes a report that its owner alone can read, whole or not at all. Throws CommandError. */
export async function writeReport(path: string, page: string): Promise<void> {
  await requireReportPlace(path);
  const written = `${path}.${uuid()}`;
  try {
    const file = await open(written, 'wx', 0o600);
    try {
      await file.writeFile(page);
    } finally {
      await file.close();
    }
    await rename(written, path);
  } catch {
    await rm(written, { force: true });
    throw new CommandError(`Cannot write the report ${path}.`);
  }
}
