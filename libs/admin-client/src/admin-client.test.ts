import { Code, ConnectError } from '@connectrpc/connect';
import { globSync } from 'node:fs';
import { afterEach, expect, test } from 'vitest';
import { clientCredentials, createAdminClient, fieldErrors } from './index.ts';
import { fakeAdministration, listening, type Listening } from './testing/fake-administration.ts';

const cleanUps: (() => void)[] = [];
afterEach(() => {
  for (const cleanUp of cleanUps.splice(0)) cleanUp();
});

async function stand<S extends Listening>(starting: Promise<S>): Promise<S> {
  const server = await starting;
  cleanUps.push(() => server.close());
  return server;
}

test('calls carry the access token, which is asked for each time', async () => {
  const { sent, url } = await stand(fakeAdministration());
  const asked: boolean[] = [];
  const admin = createAdminClient({
    baseUrl: url,
    accessToken: (refused) => {
      asked.push(refused);
      return 'good';
    },
  });
  for (const username of ['eve', 'ada'])
    expect((await admin.users.create({ tenantId: 'demo', user: { username } })).username).toBe(username);
  expect([sent, asked]).toEqual([
    ['Bearer good', 'Bearer good'],
    [false, false],
  ]);
});

test('a token that is refused is replaced once', async () => {
  const { sent, url } = await stand(fakeAdministration());
  const accessToken = (refused: boolean) => (refused ? 'good' : 'old');
  const replacing = createAdminClient({ baseUrl: url, accessToken });
  expect((await replacing.users.create({ user: { username: 'eve' } })).userId).toBe('usr_1');
  const failing = createAdminClient({ baseUrl: url, accessToken: () => 'bad' });
  await expect(failing.users.create({})).rejects.toMatchObject({ code: Code.Unauthenticated });
  expect(sent).toEqual(['Bearer old', 'Bearer good', 'Bearer bad', 'Bearer bad']);
});

test('an error names the fields that were refused', async () => {
  const { url } = await stand(fakeAdministration());
  const admin = createAdminClient({ baseUrl: url, accessToken: () => 'good' });
  const error: unknown = await admin.users.create({ user: {} }).catch((thrown: unknown) => thrown);
  expect(fieldErrors(ConnectError.from(error))).toEqual([
    { field: 'user.username', description: 'is required' },
  ]);
});

test('a server that does not answer fails the call in time', async () => {
  const { url } = await stand(listening(() => undefined));
  const admin = createAdminClient({ baseUrl: url, accessToken: () => 'good', timeoutMs: 50 });
  await expect(admin.roles.list({})).rejects.toMatchObject({ code: Code.DeadlineExceeded });
});

test('access tokens by client credentials are for the scopes of administration that are named', async () => {
  const { url, tokenRequests } = await stand(fakeAdministration());
  const accessToken = clientCredentials({
    tokenEndpoint: `${url}/token`,
    clientId: 'robot',
    clientSecret: 'a secret for this test',
    scope: 'admin.users.write',
  });
  const admin = createAdminClient({ baseUrl: url, accessToken });
  await admin.users.create({ user: { username: 'eve' } });
  await admin.users.create({ user: { username: 'ada' } });
  expect(tokenRequests).toEqual(['grant_type=client_credentials&scope=admin.users.write']);
});

test('there is a client for each service of the API', () => {
  const root = new URL('../../../', import.meta.url).pathname;
  const nouns = globSync('proto/tessera/admin/v1/*.proto', { cwd: root }).map((path) =>
    path
      .replace(/^.*\/|\.proto$/g, '')
      .replaceAll(/_([a-z])/g, (_all, letter: string) => letter.toUpperCase()),
  );
  const admin = createAdminClient({ baseUrl: 'http://127.0.0.1:9', accessToken: () => '' });
  expect(Object.keys(admin).toSorted()).toEqual(nouns.toSorted());
});
