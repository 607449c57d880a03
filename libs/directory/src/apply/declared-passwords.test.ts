import { expect, it } from 'vitest';
import { HashQueue } from '../ground/hashing/hash-queue.ts';
import { user } from '../users/fields.ts';
import { hashesOf } from './declared-passwords.ts';

it('a file may declare more passwords than may wait to be hashed', async () => {
  const queue = new HashQueue({ concurrency: 2, queue: 10, perAccount: 5 });
  const hashUnlessKnown = async (password: string, _stored: string | undefined, tenantId: string) =>
    queue.runInBackground(async () => `hash of ${password}`, tenantId);
  const names = Array.from({ length: 1_200 }, (_, at) => `person${at}`);
  const users = names.map((username) => user.parse({ username, password: `password of ${username}` }));
  const { signal } = new AbortController();
  const hashes = await hashesOf({ hashUnlessKnown }, { id: 'acme', users }, new Map(), signal);
  expect([...hashes.keys()]).toEqual(names);
  expect(hashes.get('person1199')).toBe('hash of password of person1199');
});
