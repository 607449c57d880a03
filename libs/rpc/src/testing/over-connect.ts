import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import {
  serveConnect,
  type ConnectServeOptions,
  type ConnectServer,
} from '../hosts/connect/serve-connect.ts';
import { token } from './servers.ts';
import type { Subject } from './subject.ts';

const root = fileURLToPath(new URL('../../../../', import.meta.url));
const protos = fileURLToPath(new URL('trial/', import.meta.url));

/** Serves a subject over Connect; it ends with the test. */
export async function servedOverConnect(
  subject: Pick<Subject, 'built' | 'log'>,
  cleanUps: (() => Promise<void> | void)[],
  options: Partial<ConnectServeOptions> = {},
): Promise<{ readonly server: ConnectServer; readonly url: string }> {
  const server = await serveConnect(subject.built, {
    host: '127.0.0.1',
    port: 0,
    credentials: { kind: 'token', token },
    log: subject.log,
    drainMs: 200,
    ...options,
  });
  cleanUps.push(() => server.drain());
  return { server, url: `http://127.0.0.1:${server.port}` };
}

/** What a caller with the shared token sends. */
export const headersOf = (caller: string, requestId = 'request-1') => ({
  authorization: `Bearer ${token.reveal()}`,
  'x-tessera-caller': caller,
  'x-request-id': requestId,
});

export interface Ran {
  /** 0 if it succeeded. */
  readonly code: number;
  readonly out: string;
  readonly errors: string;
}

/** The real `curl`. The status of the answer is the last line of `out`. */
export async function curl(...args: readonly string[]): Promise<Ran> {
  return run('curl', ['-sS', '--max-time', '20', '-w', '\n%{http_code}', ...args]);
}

/** The real `buf curl`, with the protos of the trial. */
export async function bufCurl(...args: readonly string[]): Promise<Ran> {
  return run(`${root}node_modules/.bin/buf`, ['curl', '--schema', protos, ...args]);
}

/** The real `buf curl`, with the descriptions of the server. */
export async function bufCurlByReflection(...args: readonly string[]): Promise<Ran> {
  return run(`${root}node_modules/.bin/buf`, ['curl', '--reflect-header', '*', ...args]);
}

/** `bufCurl`, ended by the signal. */
export async function bufCurlUntil(signal: AbortSignal, ...args: readonly string[]): Promise<Ran> {
  return run(`${root}node_modules/.bin/buf`, ['curl', '--schema', protos, ...args], signal);
}

/** Headers as options of both. */
export const asOptions = (headers: Readonly<Record<string, string>>) =>
  Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`]);

async function run(file: string, args: readonly string[], signal?: AbortSignal): Promise<Ran> {
  return new Promise((resolve) => {
    execFile(file, args, { encoding: 'utf8', ...(signal && { signal }) }, (error, out, errors) => {
      resolve({ code: error === null ? 0 : Number(error.code), out, errors });
    });
  });
}
