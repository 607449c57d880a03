import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** The first of `names` found on PATH, as an absolute path. */
export function onPath(...names: readonly string[]): string | undefined {
  const directories = (process.env['PATH'] ?? '').split(delimiter).filter((directory) => directory !== '');
  for (const name of names) {
    for (const directory of directories) {
      const candidate = join(directory, name);
      try {
        accessSync(candidate, constants.X_OK);
        return candidate;
      } catch {
        continue;
      }
    }
  }
  return undefined;
}

/** Installs Debian packages when the user is root on Debian or a descendant; false where that is not so. */
export function installWithApt(...packages: readonly string[]): boolean {
  if (process.getuid?.() !== 0 || !existsSync('/etc/debian_version') || onPath('apt-get') === undefined)
    return false;
  process.stdout.write(`Installing ${packages.join(' and ')} with apt\n`);
  // Without a network it is not to be waited for.
  const limits = ['DPkg::Lock::Timeout=300', 'Acquire::http::Timeout=20', 'Acquire::https::Timeout=20'];
  const apt = (...args: string[]) => {
    const { status, stderr } = spawnSync(
      'apt-get',
      [...limits.flatMap((limit) => ['-o', limit]), '-q', ...args],
      {
        env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
        stdio: ['ignore', 'ignore', 'pipe'],
      },
    );
    if (status !== 0) process.stderr.write(`apt-get ${args.join(' ')}: ${stderr.toString().trim()}\n`);
    return status === 0;
  };
  apt('update');
  return apt('install', '-y', '--no-install-recommends', ...packages);
}

/**
 * An executable the tests need: on PATH, or installed. Throws one sentence on what to provide.
 */
export function provideExecutable(need: {
  readonly names: readonly string[];
  readonly aptPackage: string;
  readonly advice: string;
}): string {
  const found =
    onPath(...need.names) ?? (installWithApt(need.aptPackage) ? onPath(...need.names) : undefined);
  if (found === undefined) throw new ProvisionError(need.advice);
  return found;
}

/** Something the machine lacks; the message is one sentence on what to provide. */
export class ProvisionError extends Error {
  override readonly name = 'ProvisionError';
}
