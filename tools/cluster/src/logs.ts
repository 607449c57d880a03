import type { ChildProcess } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Namespace } from './kubernetes.ts';
import { loadPod } from './load.ts';

/** The logs of every pod of a namespace, also of those that are gone: one file for each. */
export interface PodLogs {
  readonly directory: string;
  /**
   * The lines with any of these texts, each behind the name of its pod; without those of the clients, which repeat
   * them.
   */
  having(texts: readonly string[]): string[];
  end(): void;
}

/** Follows pods as they come. The directory is created. */
export function keepLogs(on: Namespace, directory: string): PodLogs {
  mkdirSync(directory, { recursive: true });
  const followers = new Set<ChildProcess>();
  const known = new Set<string>();
  // A container that starts again has a log of its own.
  const status = '{.metadata.name} {.status.phase} {.status.containerStatuses[*].restartCount}{"\\n"}';
  const watch = on.start(['get', 'pods', '--watch', `--output=jsonpath=${status}`]);
  createInterface({ input: watch.stdout ?? process.stdin }).on('line', (line) => {
    const [pod = '', phase = '', ...restarts] = line.split(' ');
    const started = `${pod} ${restarts.join(' ')}`;
    if (!['Running', 'Succeeded', 'Failed'].includes(phase) || known.has(started)) return;
    known.add(started);
    const args = ['logs', pod, '--follow', '--all-containers', '--timestamps', '--ignore-errors'];
    const follower = on.start(args, join(directory, `${pod}.log`));
    followers.add(follower);
    follower.once('close', () => followers.delete(follower));
  });
  return {
    directory,
    having: (texts) => linesHaving(directory, texts),
    end() {
      for (const child of [watch, ...followers]) child.kill();
    },
  };
}

/**
 * The lines of all files of a directory but those of the clients that have any of these texts, each behind the name of
 * its file.
 */
export function linesHaving(directory: string, texts: readonly string[]): string[] {
  const wanted = texts.filter((text) => text !== '');
  return readdirSync(directory)
    .filter((file) => file !== `${loadPod}.log`)
    .toSorted()
    .flatMap((file) =>
      readFileSync(join(directory, file), 'utf8')
        .split('\n')
        .filter((line) => wanted.some((text) => line.includes(text)))
        .map((line) => `${file.replace(/\.log$/, '')}: ${line}`),
    );
}
