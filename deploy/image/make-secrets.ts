/**
 * `make-secrets.ts <directory>`: one file for each secret of a deployment that is there to be tried. Files that exist
 * stay as they are. Not for production, where secrets come from a secret store.
 */
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const directory = process.argv[2] ?? '.';

function make(name: string, value: () => string): string {
  const path = join(directory, name);
  // Containers of several users read them; the volume itself is not reachable from elsewhere.
  if (!existsSync(path)) writeFileSync(path, value(), { flag: 'wx', mode: 0o444 });
  return readFileSync(path, 'utf8');
}

const bytes = (encoding: 'base64' | 'base64url') => () => randomBytes(32).toString(encoding);

make('keys-kek', bytes('base64'));
make('directory-pepper', bytes('base64'));
make('token-refresh-keys', () => `1:${bytes('base64')()}`);
make('rpc-token', bytes('base64url'));
const password = make('database-password', bytes('base64url'));
make('database-url', () => `postgres://tessera:${password}@postgres:5432/tessera?sslmode=disable`);
