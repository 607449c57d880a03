import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { combine, processConfig, rpcConfig, rpcCredentials, type PeerName } from '@tessera/process';
import { openDatabase } from '@tessera/stores';
import { serve } from '@tessera/rpc';
import type { BuiltService } from '@tessera/rpc';
import { atEndOfFile, silentLog } from '@tessera/test-kit';
import { settings } from '../settings.ts';
import { run } from '../run.ts';
import type { Terminal } from '../terminal.ts';

/** Exists while a test file runs that has written something. */
let directory: string | undefined;

export const pepper = Buffer.alloc(32, 1).toString('base64');

/** The environment of a deployment with a database. */
export const secrets = {
  TESSERA_KEYS_KEK: Buffer.alloc(32, 2).toString('base64'),
  TESSERA_DIRECTORY_PEPPER: pepper,
  TESSERA_TOKEN_REFRESH_KEYS: `1:${Buffer.alloc(32, 3).toString('base64')}`,
};

/** A process that runs in the checkout is not for tests. */
const nowhere = { TESSERA_DATA_DIR: join(tmpdir(), 'tessera-is-not-here') };

/** The line that says where a command works. */
const whereLine = /^On .*\.\n$/;

/** What a command has printed. */
export interface Printed {
  readonly code: number;
  /** Standard output alone: what a script reads. */
  readonly out: string;
  /** Where it works, which tests that are not about it leave out. */
  readonly where: string;
  /** Other messages, and results, in their order. */
  readonly said: string;
}

/** Runs a command. Resolves with its exit code and output, results and messages. */
export async function tessera(...of: Parameters<typeof printed>): Promise<Pick<Printed, 'code' | 'said'>> {
  const { code, said } = await printed(...of);
  return { code, said };
}

/** As `tessera`, of a command that works on the database of `DATABASE_URL`. */
export const directly: typeof tessera = async (words, ...of) => tessera(`${words} --direct`, ...of);

/** Runs a command. Resolves with all that it printed. */
export async function printed(
  words: string,
  environment: Record<string, string>,
  fetchFrom: typeof fetch = async () => Promise.reject(new TypeError('fetch failed')),
  input = '',
): Promise<Printed> {
  let [out, where, said] = ['', '', ''];
  const terminal: Terminal = {
    environment: { ...nowhere, ...environment },
    out: (text) => {
      out += text;
      said += text;
    },
    say(text) {
      if (whereLine.test(text)) where += text;
      else said += text;
    },
    input: async () => input,
    sleep: async () => undefined,
    now: () => Date.now(),
    fetch: fetchFrom,
  };
  const code = await run(words.split(' '), terminal);
  return { code, out, where, said };
}

/** Writes a file, which replaces the one before. Resolves with its path. */
export function file(content: string | Uint8Array, name = 'tessera.yaml'): string {
  directory ??= newDirectory();
  const path = join(directory, name);
  writeFileSync(path, content);
  return path;
}

function newDirectory(): string {
  const made = mkdtempSync(join(tmpdir(), 'tessera-cli-'));
  atEndOfFile(async () => {
    directory = undefined;
    rmSync(made, { recursive: true });
  });
  return made;
}

export async function rows(url: string, text: string): Promise<unknown[]> {
  const database = await openDatabase({ url });
  try {
    return (await database.query({ name: `test.${text}`.slice(0, 60), text })).rows;
  } finally {
    await database.close();
  }
}

/** Serves calls until the test ends. Resolves with the environment of an operator, which says where `peer` is. */
export async function serving(built: BuiltService, peer: PeerName): Promise<Record<string, string>> {
  onTestFinished(() => built.close());
  const token = { TESSERA_RPC_TOKEN: 'a-token-between-processes-of-a-test' };
  const credentials = rpcCredentials(settings(combine(processConfig, rpcConfig), token));
  const server = await serve(built, { host: '127.0.0.1', port: 0, credentials, log: silentLog() });
  onTestFinished(() => server.drain());
  return { ...token, TESSERA_PEERS: `${peer}=127.0.0.1:${server.port}` };
}
