import { existsSync, readFileSync, statSync } from 'node:fs';
import { expect, it } from 'vitest';
import { migrations as directoryMigrations } from '@tessera/directory';
import { newDatabaseUrl } from '@tessera/test-kit';
import { file, pepper, printed, rows } from '../testing/run-command.ts';

async function deployment() {
  const DATABASE_URL = await newDatabaseUrl(directoryMigrations);
  const environment = { DATABASE_URL, TESSERA_DIRECTORY_PEPPER: pepper };
  return {
    run: async (words: string, input = '') => printed(`${words} --direct`, environment, undefined, input),
    secrets: async () =>
      rows(
        DATABASE_URL,
        'SELECT client_id, digest, expires_at FROM directory.application_secret ORDER BY client_id',
      ) as Promise<Readonly<Record<string, unknown>>[]>,
  };
}

const redirectUris = ['https://web.example/cb'];
const realm = {
  realm: 'harbour',
  clients: [
    { clientId: 'brief', secret: 'too short', redirectUris },
    { clientId: 'wild', publicClient: true, redirectUris: ['https://wild.example/*'] },
    { clientId: 'batch', secret: '**********', standardFlowEnabled: false, serviceAccountsEnabled: true },
  ],
  users: [
    {
      username: 'ada@example.com',
      enabled: true,
      credentials: [{ type: 'password', value: 'correct horse battery' }],
    },
    { username: 'bob: <b>@example.com', enabled: true, credentials: [{ type: 'password', value: 'pw-7' }] },
    { username: 'eve', enabled: false },
  ],
};
const text = JSON.stringify(realm);
const newSecret = /^new secret: (\S+) ([\w-]{43})$/gm;

it('applications without a usable secret get one, which is printed once and stays', async () => {
  const { run, secrets } = await deployment();
  const dryRun = await run('import keycloak - --dry-run', text);
  expect(dryRun.out).toContain('to do: application brief: has a new secret, as its own has fewer than');
  expect(dryRun.said).not.toMatch(newSecret);
  const first = await run('import keycloak -', text);
  expect([...first.out.matchAll(newSecret)].map(([, clientId]) => clientId)).toEqual(['brief', 'batch']);
  expect(first.out).toContain('to do: application batch: has a new secret, as its own is not in the file\n');
  const present = await secrets();
  expect(present).toMatchObject([
    { client_id: 'batch', expires_at: null },
    { client_id: 'brief', expires_at: null },
  ]);
  const again = await run('import keycloak -', text);
  expect(again.said).toContain('harbour: 0 created, 0 updated, 0 deleted');
  expect(again.said).not.toMatch(newSecret);
  expect(again.out).toMatch(/^left out: secret of application brief: .*the one that it has here stays/m);
  expect(await secrets()).toEqual(present);
});

it('a short secret stays until a day, if the import is told so', async () => {
  const { run, secrets } = await deployment();
  const until = new Date(Date.now() + 30 * 86_400_000).toISOString();
  const first = await run(`import keycloak - --keep-short-secrets ${until}`, text);
  expect(first.out).toContain(`to do: application brief: replace its short secret, which ends at ${until}\n`);
  expect(first.said).not.toContain('too short');
  expect([...first.out.matchAll(newSecret)].map(([, clientId]) => clientId)).toEqual(['batch']);
  const [, brief] = await secrets();
  expect(brief).toMatchObject({ client_id: 'brief', expires_at: new Date(until) });
  const late = new Date(Date.now() + 91 * 86_400_000).toISOString();
  expect(await run(`import keycloak - --keep-short-secrets ${late}`, text)).toMatchObject({
    code: 2,
    said: '--keep-short-secrets must be a time within the next 90 days.\n',
  });
});

it('a client comes enabled with the redirect URIs that a file says in place of its wildcards', async () => {
  const { run } = await deployment();
  const template = await run('import keycloak - --redirect-uris-template', text);
  expect(template.code).toBe(0);
  expect(template.out.split('\n').slice(1)).toEqual([
    '',
    '"wild":',
    '  # https://wild.example/*: wildcards are refused',
    '  redirectUris: []',
    '',
  ]);
  const empty = file(template.out, 'empty.yaml');
  expect((await run(`import keycloak - --redirect-uris ${empty}`, text)).out).toContain(
    'to do: application wild: comes disabled: no exact redirect URI is left',
  );
  const filled = template.out.replace('redirectUris: []', 'redirectUris: [https://wild.example/cb]');
  const { out } = await run(`import keycloak - --redirect-uris ${file(filled, 'clients.yaml')}`, text);
  expect(out).toContain('arrived: application wild\n');
  const { out: application } = await run('application get wild --tenant harbour');
  expect(application).toContain('https://wild.example/cb');
  expect(application).toContain('status: active');
});

it('mistakes in a file of redirect URIs are named with their places', async () => {
  const { run } = await deployment();
  const path = file(
    [
      'wild:',
      '  redirectUris: ["https://wild.example/*", 7, "http://wild.example/"]',
      '  webOrigins: ["*"]',
      '  uris: []',
      'wilde: { redirectUris: [] }',
      'batch: { redirectUris: [] }',
      'brief: [x]',
    ].join('\n'),
    'wrong.yaml',
  );
  const { code, said } = await run(`import keycloak - --redirect-uris ${path}`, text);
  expect([
    code,
    said
      .trimEnd()
      .split('\n')
      .map((line) => line.replace(path, 'wrong.yaml')),
  ]).toEqual([
    1,
    [
      'wrong.yaml:2:18: wild.redirectUris[0]: has a wildcard: say each redirect URI in full',
      'wrong.yaml:2:44: wild.redirectUris[1]: must be text; put it in quotes',
      expect.stringMatching(/^wrong.yaml:2:47: wild.redirectUris\[2\]: .*https/),
      'wrong.yaml:3:3: wild.webOrigins: every origin may call; leave it out',
      'wrong.yaml:4:3: wild.uris: is not a known key; use redirectUris, logoutRedirectUris',
      'wrong.yaml:5:1: wilde: is not a client of the realm',
      'wrong.yaml:6:1: batch: nobody signs in to it by redirect',
      'wrong.yaml:7:1: brief: must be a set of keys: redirectUris, logoutRedirectUris',
    ],
  ]);
});

it('a report has the lists and counts, nobody by name and no secret, and replaces reports alone', async () => {
  const { run } = await deployment();
  const path = file('', 'report.html').replace('report.html', 'made-report.html');
  const strange = { clientId: 'odd', name: '<img src=x onerror=alert(1)>', publicClient: true, redirectUris };
  const withNames = JSON.stringify({ ...realm, clients: [...realm.clients, strange] });
  expect((await run(`import keycloak - --dry-run --report ${path}`, withNames)).code).toBe(0);
  const dryRun = readFileSync(path, 'utf8');
  expect(dryRun).toContain('A dry run: nothing was changed.');
  expect(statSync(path).mode & 0o777).toBe(0o600);
  const { out, code } = await run(`import keycloak - --report ${path}`, withNames);
  expect(code).toBe(0);
  const page = readFileSync(path, 'utf8');
  for (const [, , secret = ''] of out.matchAll(newSecret)) expect(page).not.toContain(secret);
  expect(page).not.toMatch(
    /too short|correct horse|pw-7|ada@|bob|\beve\b|<img|<script|https?:\/\/(?!wild|web)/,
  );
  expect(page).toContain('&lt;img src=x onerror=alert(1)&gt;');
  expect(page).toContain('<td>a link to set a password</td><td>2</td>');
  expect(page).toContain('<td>nothing: they sign in as before</td><td>1</td>');
  expect(page).toMatch(/<li>application wild: comes disabled: no exact redirect URI is left/);
  const other = file('mine', 'mine.html');
  const refused = await run(`import keycloak - --report ${other}`, withNames);
  expect(refused).toMatchObject({ code: 2, said: expect.stringContaining('is no report of tessera import') });
  expect(readFileSync(other, 'utf8')).toBe('mine');
  expect(existsSync(`${path}.tmp`)).toBe(false);
});

it('a report of an import that stopped says so', async () => {
  const { run } = await deployment();
  const path = file('', 'x.html').replace('x.html', 'stopped.html');
  await run('import keycloak -', text);
  const { code, out } = await run(
    `import keycloak - --report ${path}`,
    JSON.stringify({ ...realm, users: [], clients: realm.clients.slice(1) }),
  );
  expect(code).toBe(3);
  expect(out).toContain('harbour: application brief would be deleted');
  expect(out).toContain('Would arrive:');
  expect(readFileSync(path, 'utf8')).toContain('It stopped: what the command printed says why.');
});
