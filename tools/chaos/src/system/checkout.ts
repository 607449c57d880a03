import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, readlink, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const here = fileURLToPath(new URL('../../../../', import.meta.url));

export interface Checkout {
  /** Root folder from which processes start. */
  readonly root: string;
  remove(): Promise<void>;
}

/**
 * An earlier commit in a folder of its own, ready to start processes from. It shares the installed packages if the lock files are
 * equal, and installs its own otherwise.
 */
export async function checkOut(commit: string): Promise<Checkout> {
  const root = await mkdtemp(join(tmpdir(), 'tessera-old-'));
  const remove = () => rm(root, { recursive: true, force: true });
  try {
    const archive = join(root, 'archive.tar');
    await run('git', ['archive', '--output', archive, commit], { cwd: here });
    await run('tar', ['-xf', archive, '-C', root]);
    await rm(archive);
    if (await sameLock(root)) await linkPackages(root);
    else await run('npm', ['ci', '--omit=dev', '--no-audit', '--no-fund'], { cwd: root });
  } catch (error) {
    await remove();
    throw error;
  }
  return { root, remove };
}

async function sameLock(root: string): Promise<boolean> {
  const [theirs, ours] = await Promise.all(
    [root, here].map((folder) => readFile(join(folder, 'package-lock.json'), 'utf8')),
  );
  return theirs === ours;
}

/** Links third-party packages to those installed here, and the project's packages to the checkout. */
async function linkPackages(root: string): Promise<void> {
  const installed = join(here, 'node_modules');
  const own = join(root, 'node_modules', '@tessera');
  await mkdir(own, { recursive: true });
  for (const name of await readdir(installed)) {
    if (!name.startsWith('.') && name !== '@tessera')
      await symlink(join(installed, name), join(root, 'node_modules', name));
  }
  for (const name of await readdir(join(installed, '@tessera'))) {
    await symlink(await readlink(join(installed, '@tessera', name)), join(own, name));
  }
  // Versions that only one package needs.
  const lock = JSON.parse(await readFile(join(here, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, unknown>;
  };
  const nested = new Set(
    Object.keys(lock.packages).flatMap(
      (path) => /^((?:apps|libs)\/[^/]+\/node_modules)\//.exec(path)?.[1] ?? [],
    ),
  );
  for (const path of nested) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await symlink(join(here, path), join(root, path));
  }
}
