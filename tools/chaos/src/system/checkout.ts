import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const here = fileURLToPath(new URL('../../../../', import.meta.url));

export interface Checkout {
  /** Root folder from which processes start. */
  readonly root: string;
  remove(): Promise<void>;
}

/** An earlier commit in a folder of its own with its own packages, ready to start processes from. */
export async function checkOut(commit: string): Promise<Checkout> {
  const root = await mkdtemp(join(tmpdir(), 'tessera-old-'));
  const remove = () => rm(root, { recursive: true, force: true });
  try {
    const archive = join(root, 'archive.tar');
    await run('git', ['archive', '--output', archive, commit], { cwd: here });
    await run('tar', ['-xf', archive, '-C', root]);
    await rm(archive);
    await run('npm', ['ci', '--omit=dev', '--no-audit', '--no-fund'], { cwd: root });
  } catch (error) {
    await remove();
    throw error;
  }
  return { root, remove };
}
