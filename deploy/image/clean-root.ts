import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** As in the image: an unprivileged user that owns nothing but the data directory. */
const user = 1000;
const isRoot = process.getuid?.() === 0;
const chroot = ['/usr/sbin/chroot', '/usr/bin/chroot'].find((path) => existsSync(path));

/**
 * A root directory with what the base image gives a process of ours: Node and the libraries it is linked with. There is
 * no shell in it, no tool, no package manager. Where this user may not change the root, the tree is run from where it
 * lies, still read-only.
 */
export class CleanRoot {
  readonly #root: string;
  readonly #confined = isRoot && chroot !== undefined && process.platform === 'linux';

  /** `root` is an empty directory; the tree belongs into `app`. */
  constructor(root: string) {
    this.#root = root;
  }

  get app(): string {
    return join(this.#root, 'app');
  }

  get isConfined(): boolean {
    return this.#confined;
  }

  /** Adds Node and removes the right to write, once the tree is assembled. */
  seal(): void {
    if (this.#confined) {
      const libraries = execFileSync('ldd', [process.execPath], { encoding: 'utf8' }).match(/\/\S+/g) ?? [];
      for (const path of libraries) this.#copy(path, path);
      mkdirSync(join(this.#root, 'etc'));
      writeFileSync(join(this.#root, 'etc/hosts'), `127.0.0.1 localhost ${this.peerHost}\n`);
      this.#copy(process.execPath, '/usr/local/bin/node');
    }
    const data = join(this.#root, 'data');
    mkdirSync(data);
    if (isRoot) chownSync(data, user, user);
    for (const path of globSync('**/*', { cwd: this.app })) {
      const full = join(this.app, path);
      if (existsSync(full)) chmodSync(full, statSync(full).mode & 0o555);
    }
    chmodSync(this.app, 0o555);
    chmodSync(this.#root, 0o755);
  }

  /** Starts a process of the image by its command; `output` grows with what it prints. */
  start(
    command: string,
    environment: Readonly<Record<string, string>>,
    words: readonly string[] = [],
  ): ImageProcess {
    const [executable, before] = this.#node();
    const child = spawn(
      executable,
      [...before, `${this.inside}/app/deploy/image/start.ts`, command, ...words],
      {
        cwd: this.app,
        env: { NODE_ENV: 'production', TESSERA_DATA_DIR: `${this.inside}/data`, ...environment },
        stdio: ['ignore', 'pipe', 'pipe'],
        ...this.#identity(),
      },
    );
    return new ImageProcess(command, child);
  }

  /** Runs a script inside; APP stands for the tree. Throws what the script throws. */
  evaluate(script: string): string {
    const [executable, before] = this.#node();
    const code = script.replaceAll('APP', `${this.inside}/app`);
    return execFileSync(executable, [...before, '-e', code], {
      cwd: this.app,
      env: {},
      encoding: 'utf8',
      stdio: 'pipe',
      ...this.#identity(),
    });
  }

  /** A name of this machine. In a root of its own it ends with a dot, as peers do in a cluster. */
  get peerHost(): string {
    return this.#confined ? 'peers.tessera.internal.' : 'localhost';
  }

  /** How a path of the root begins for what runs in it. */
  get inside(): string {
    return this.#confined ? '' : this.#root;
  }

  #node(): readonly [executable: string, before: readonly string[]] {
    if (!this.#confined) return [process.execPath, []];
    const as = [`--userspec=${user}:${user}`, '--groups='];
    return [chroot ?? '', [...as, this.#root, '/usr/local/bin/node']];
  }

  #identity(): { readonly uid?: number; readonly gid?: number } {
    return isRoot && !this.#confined ? { uid: user, gid: user } : {};
  }

  #copy(from: string, to: string): void {
    mkdirSync(dirname(join(this.#root, to)), { recursive: true });
    copyFileSync(from, join(this.#root, to));
    chmodSync(join(this.#root, to), 0o555);
  }
}

export class ImageProcess {
  readonly #name: string;
  readonly #child: ChildProcess;
  readonly #exit: Promise<number | null>;
  output = '';

  constructor(name: string, child: ChildProcess) {
    this.#name = name;
    this.#child = child;
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (chunk: Buffer) => (this.output += chunk.toString()));
    }
    this.#exit = new Promise((resolve) => child.once('exit', resolve));
  }

  get exited(): Promise<number | null> {
    return this.#exit;
  }

  /** Resolves once `/readyz` of the management listener answers 200. */
  async ready(port: number): Promise<void> {
    for (let attempt = 0; attempt < 240; attempt += 1) {
      if (this.#child.exitCode !== null) break;
      const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined);
      if (answer?.ok === true) return;
      await sleep(250);
    }
    throw new Error(`${this.#name} did not become ready.\n${this.output.slice(-4000)}`);
  }

  async stop(): Promise<number | null> {
    this.#child.kill('SIGTERM');
    return this.#exit;
  }
}
