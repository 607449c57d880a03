import { randomBytes } from 'node:crypto';
import type { Namespace } from './kubernetes.ts';
import { secret } from './stores.ts';

export const newSecret = (): string => randomBytes(32).toString('base64url');

/** The Secrets of docs/operations.md, those of the declared state, of `helm test` and of the load. */
export function createSecrets(): object[] {
  const key = () => randomBytes(32).toString('base64');
  const clients = {
    'worker-secret': newSecret(),
    'orders-secret': newSecret(),
    'ada-password': newSecret(),
  };
  return [
    secret('secrets', {
      'keys-kek': key(),
      'directory-pepper': key(),
      'token-refresh-keys': `1:${key()}`,
    }),
    secret('clients', clients),
    secret('load', { ...clients, version: 'first' }),
    secret('smoke', { 'client-id': 'worker', 'client-secret': clients['worker-secret'] }),
  ];
}

interface LiveSecret {
  readonly data: Readonly<Record<string, string>>;
}

const get = async (on: Namespace, name: string) =>
  JSON.parse(await on.kubectl(['get', 'secret', name, '--output', 'json'])) as LiveSecret;

export async function readSecret(on: Namespace, name: string, key: string): Promise<string> {
  return Buffer.from((await get(on, name)).data[key] ?? '', 'base64').toString();
}

/** Changes some keys of a Secret; by standard input, so that no process list shows them. */
export async function changeSecret(
  on: Namespace,
  name: string,
  stringData: Readonly<Record<string, string>>,
): Promise<void> {
  await on.kubectl(['replace', '--filename', '-'], JSON.stringify({ ...(await get(on, name)), stringData }));
}
