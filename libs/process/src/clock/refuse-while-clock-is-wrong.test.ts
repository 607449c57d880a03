import { temporarilyUnavailable } from '@tessera/oauth';
import { DirectoryService } from '@tessera/proto-gen/directory';
import { KeysService } from '@tessera/proto-gen/keys';
import { local, type BuiltService } from '@tessera/rpc';
import { expect, test } from 'vitest';
import { refuseWhileClockIsWrong } from './refuse-while-clock-is-wrong.ts';

const answer = () => ({});
async function* stream() {
  yield {};
}

const service: BuiltService = {
  name: 'keys',
  routes: [KeysService, DirectoryService].map((offered) => ({
    service: offered,
    handlers: Object.fromEntries(
      offered.methods.map(({ localName, methodKind }) => [
        localName,
        methodKind === 'unary' ? answer : stream,
      ]),
    ),
  })),
  ready: async () => undefined,
  close: async () => undefined,
};

test('while the clock is wrong, calls and streams are refused and the service is not ready', async () => {
  let clockIsWrong = true;
  const built = refuseWhileClockIsWrong(service, {
    requireClock() {
      if (clockIsWrong) throw temporarilyUnavailable();
    },
  });
  const keys = local(KeysService, built, 'token');
  const directory = local(DirectoryService, built, 'token');
  const count = async (): Promise<number> => {
    let messages = 0;
    for await (const _ of directory.watchChanges({})) messages += 1;
    return messages;
  };

  const refused = { code: 'temporarily_unavailable', retryAfterSeconds: 1 };
  await expect(keys.sign({})).rejects.toMatchObject(refused);
  await expect(count()).rejects.toMatchObject(refused);
  await expect(built.ready()).rejects.toMatchObject(refused);

  clockIsWrong = false;
  await expect(keys.sign({})).resolves.toMatchObject({ tokens: [] });
  expect(await count()).toBe(1);
  await built.ready();
});
