import { DirectoryService } from '@tessera/proto-gen/directory';
import { KeysService } from '@tessera/proto-gen/keys';
import { temporarilyUnavailable } from '@tessera/oauth';
import { expect, test } from 'vitest';
import { guarded } from './guarded.ts';
import { local } from './local.ts';
import { createSubject, signRequest } from './testing/subject.ts';

test('a guarded service refuses calls and streams and is not ready while its guard throws', async () => {
  const subject = createSubject();
  subject.sign = () => ({ tokens: ['one'] });
  subject.watchChanges = async function* watchChanges() {
    yield {};
  };
  let open = false;
  const built = guarded(subject.built, () => {
    if (!open) throw temporarilyUnavailable();
  });
  const keys = local(KeysService, built, 'token', subject.log);
  const directory = local(DirectoryService, built, 'token', subject.log);
  const count = async (): Promise<number> => {
    let messages = 0;
    for await (const _ of directory.watchChanges({})) messages += 1;
    return messages;
  };

  const refused = { code: 'temporarily_unavailable', retryAfterSeconds: 1 };
  await expect(keys.sign(signRequest())).rejects.toMatchObject(refused);
  await expect(count()).rejects.toMatchObject(refused);
  await expect(built.ready()).rejects.toMatchObject(refused);

  open = true;
  await expect(keys.sign(signRequest())).resolves.toMatchObject({ tokens: ['one'] });
  expect(await count()).toBe(1);
  await built.ready();
});
