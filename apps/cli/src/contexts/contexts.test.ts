import { chmod, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { create, toBinary } from '@bufbuild/protobuf';
import { ListRolesResponseSchema } from '@tessera/proto-gen/admin-roles';
import { createCertificates } from '@tessera/test-kit/provision';
import { describe, expect, it, onTestFinished } from 'vitest';
import { printed, tessera } from '../testing/run-command.ts';
import { Secret, systemRandom } from '@tessera/kit';
import { createProver, nonceHeader, proofPath } from '@tessera/rpc';

const issuer = 'https://id.example.com';
const metadata = {
  issuer,
  token_endpoint: `${issuer}/token`,
  device_authorization_endpoint: `${issuer}/device_authorization`,
  revocation_endpoint: `${issuer}/revoke`,
};
const listed = toBinary(
  ListRolesResponseSchema,
  create(ListRolesResponseSchema, { roles: [{ name: 'clerk' }] }),
);
const device = {
  device_code: 'dc',
  user_code: 'WDJB-MJHT',
  verification_uri: `${issuer}/device`,
  expires_in: 600,
  interval: 1,
};

/** Of a process with embedded stores. */
const administration = createProver(new Secret('x'), systemRandom);

interface Sent {
  readonly path: string;
  readonly form: Readonly<Record<string, string>>;
  readonly authorization: string | null;
}

/**
 * A user with a configuration folder, an issuer that gives the prepared token responses, and an API that takes one
 * access token.
 */
async function world(
  tokens: readonly object[],
  certificate?: { readonly key: Buffer; readonly cert: Buffer },
  isKnown = true,
) {
  const folder = await mkdtemp(join(tmpdir(), 'tessera-contexts-'));
  onTestFinished(async () => rm(folder, { recursive: true }));
  const sent: Sent[] = [];
  const replies = [...tokens];
  const fetchFrom: typeof fetch = async (url, init) => {
    const { pathname, port } = new URL(url instanceof Request ? url.url : url);
    if (pathname === proofPath) {
      const nonce = new Headers(init?.headers).get(nonceHeader) ?? '';
      return Response.json(administration.prove(nonce, Number(port)));
    }
    if (pathname.includes('/.well-known/'))
      return Response.json({
        ...metadata,
        issuer: metadata.issuer + pathname.replace(/^\/\.well-known\/[^/]*/, ''),
      });
    sent.push({
      path: pathname,
      form: Object.fromEntries(new URLSearchParams(init?.body instanceof URLSearchParams ? init.body : '')),
      authorization: new Headers(init?.headers).get('authorization'),
    });
    if (pathname === '/device_authorization')
      return isKnown ? Response.json(device) : Response.json({ error: 'invalid_client' }, { status: 401 });
    if (pathname === '/revoke') return new Response();
    const reply = replies.shift() ?? { error: 'invalid_grant' };
    return Response.json(reply, { status: 'error' in reply ? 400 : 200 });
  };
  const valid = { token: 'at1' };
  const calls: string[] = [];
  const answerCall: RequestListener = (request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString('latin1')));
    request.on('end', () => {
      calls.push(body);
      const isValid = request.headers.authorization === `Bearer ${valid.token}`;
      const type = isValid ? 'application/proto' : 'application/json';
      response.writeHead(isValid ? 200 : 401, { 'content-type': type });
      response.end(isValid ? listed : '{"code": "unauthenticated", "message": "no"}');
    });
  };
  const server =
    certificate === undefined ? createServer(answerCall) : createTlsServer(certificate, answerCall);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
  });
  const api = `${certificate === undefined ? 'http' : 'https'}://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const file = join(folder, 'tessera', 'contexts.json');
  return {
    api,
    file,
    sent,
    /** The requests to the API, in which texts can be read. */
    calls,
    valid,
    where: async (words: string, environment: Record<string, string> = {}) =>
      (await printed(words, { XDG_CONFIG_HOME: folder, ...environment }, fetchFrom)).where,
    run: async (words: string, environment: Record<string, string> = {}) =>
      tessera(words, { XDG_CONFIG_HOME: folder, ...environment }, fetchFrom),
    login: async (more = '') =>
      tessera(`login --no-qr --issuer ${issuer} --api ${api}${more}`, { XDG_CONFIG_HOME: folder }, fetchFrom),
  };
}

const answer = (at: string, expires: number, rt = 'rt') => ({
  access_token: at,
  token_type: 'Bearer',
  expires_in: expires,
  refresh_token: rt,
});
const roles = 'role list --tenant acme';

describe('tessera login', () => {
  it('logs in by the device flow as the built-in application, and keeps the login for its user alone', async () => {
    const { login, run, sent, file, api } = await world([answer('at1', 600)]);
    const { code, said } = await login();
    expect(code, said).toBe(0);
    expect(said).toContain('WDJB-MJHT');
    expect(said).not.toMatch(/at1|rt/);
    expect(sent[0]?.form).toMatchObject({
      client_id: 'tessera.cli',
      resource: 'urn:tessera:admin',
      scope: expect.stringMatching(/^offline_access admin\./) as string,
    });
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await stat(join(file, '..'))).mode & 0o777).toBe(0o700);
    expect(await run(roles)).toEqual({ code: 0, said: expect.stringContaining('clerk') as string });
    expect(JSON.parse((await run('context list -o json')).said)).toEqual([
      { name: 'id.example.com', current: true, loggedIn: true, api, issuer },
    ]);
  });

  it.each([
    ['127.0.0.1:9999', 'http://127.0.0.1:9999'],
    ['[::1]:9999', 'http://[::1]:9999'],
    ['api.evil.example:80', 'http://127.0.0.1:9002'],
    ['127.0.0.1.evil.example:80', 'http://127.0.0.1:9002'],
    ['127.0.0.1:80@evil.example:80', 'http://127.0.0.1:9002'],
    ['localhost:9999', 'http://127.0.0.1:9002'],
    ['127.0.0.1:9999', 'http://127.0.0.1:9002', 'the token of a process that has ended'],
  ])(
    'goes to the process whose data directory is at hand on this machine alone: %s',
    async (target, expected, token = 'x') => {
      const { run, file } = await world([answer('at1', 600)]);
      const folder = join(file, '..', '..', 'data');
      await mkdir(folder);
      await writeFile(join(folder, 'administration.json'), JSON.stringify({ target, token, issuer }), {
        mode: 0o600,
      });
      const { code, said } = await run(`login --no-qr --issuer ${issuer}`, { TESSERA_DATA_DIR: folder });
      expect(code, said).toBe(0);
      expect(JSON.parse((await run('context list -o json')).said)).toMatchObject([{ api: expected }]);
    },
  );

  it('is for one tenant at the issuer of that tenant', async () => {
    const { login, sent, run } = await world([answer('at1', 600)]);
    await login(' --tenant acme');
    expect(sent[0]?.form).toMatchObject({ client_id: 'tessera.cli.acme' });
    expect((await run('context list')).said).toContain('id.example.com-acme');
  });

  it.each([
    ['/t/initech', 'If this is the issuer of the tenant initech, add --tenant initech.'],
    ['', 'If this is the issuer of one tenant, name that with --tenant.'],
  ])('says at the issuer %s of a tenant that its name is needed', async (path, hint) => {
    const { run } = await world([], undefined, false);
    expect(await run(`login --no-qr --issuer ${issuer}${path}`)).toEqual({
      code: 1,
      said: `invalid_client ${hint}\n`,
    });
  });

  it('is renewed when the access token has expired', async () => {
    const { login, run, sent, valid } = await world([answer('at1', 20), answer('at2', 600, 'rt2')]);
    await login();
    valid.token = 'at2';
    expect((await run(roles)).code).toBe(0);
    expect(sent.at(-1)?.form).toMatchObject({ grant_type: 'refresh_token', refresh_token: 'rt' });
    expect((await run(roles)).code).toBe(0);
    expect(sent.filter(({ form }) => form['grant_type'] === 'refresh_token')).toHaveLength(1);
  });

  it.each([
    ['its refresh token is refused', 20, 'at1'],
    ['the API refuses its access token', 600, 'another'],
  ])('has ended if %s', async (_why, expires, token) => {
    const { login, run, valid, file } = await world([answer('at1', expires)]);
    await login();
    valid.token = token;
    const ended = 'Your login to id.example.com has ended. Run tessera login --context id.example.com.\n';
    expect(await run(roles)).toEqual({ code: 1, said: ended });
    expect(await readFile(file, 'utf8')).not.toContain('at1');
    expect((await run(roles)).said).toContain('You are not logged in to id.example.com.');
  });

  it('is not used from a file that others can read', async () => {
    const { login, run, file } = await world([answer('at1', 600)]);
    await login();
    for (const mode of [0o640, 0o604, 0o620]) {
      await chmod(file, mode);
      const { code, said } = await run(roles);
      expect([code, said]).toEqual([1, expect.stringContaining(`chmod 600 ${file}`)]);
    }
  });

  it('reaches an API behind a forwarded port by the name in its certificate', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'tessera-contexts-tls-'));
    onTestFinished(async () => rm(directory, { recursive: true }));
    const { ca, certificates } = await createCertificates(directory, ['administration']);
    const { key = '', cert = '' } = certificates['administration'] ?? {};
    const own = { key: await readFile(key), cert: await readFile(cert) };
    const { login, run } = await world([answer('at1', 600), answer('at1', 600)], own);
    await login(` --ca-file ${ca} --server-name administration`);
    expect(await run(roles)).toMatchObject({ code: 0 });
    await login(' --context without-authority');
    const { code, said } = await run(roles);
    expect([code, said]).toEqual([1, expect.stringContaining('does not answer at https://127.0.0.1:')]);
  });

  it('ends with tessera logout, at the server too', async () => {
    const { login, run, sent, file } = await world([answer('at1', 600)]);
    await login();
    expect(await run('logout')).toEqual({ code: 0, said: 'Logged out of id.example.com.\n' });
    expect(sent.at(-1)).toMatchObject({ path: '/revoke', form: { token: 'rt', client_id: 'tessera.cli' } });
    expect(await readFile(file, 'utf8')).not.toMatch(/at1|"rt"/);
    expect((await run('logout')).code).toBe(1);
  });
});

/** A file with a secret, in a folder of its own. */
async function secretFile(secret: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tessera-secret-'));
  onTestFinished(async () => rm(folder, { recursive: true }));
  const path = join(folder, 'secret');
  await writeFile(path, `${secret}\n`);
  return path;
}

const basic = (clientId: string, secret: string) =>
  `Basic ${Buffer.from(`${clientId}:${secret}`).toString('base64')}`;
const short = { access_token: 'at1', token_type: 'Bearer', expires_in: 20 };
const next = { access_token: 'at2', token_type: 'Bearer', expires_in: 600 };

describe('an application', () => {
  it('logs in with its secret, which is read again for each token and kept nowhere (RFC 6749 §4.4)', async () => {
    const { login, run, sent, file, valid } = await world([short, next]);
    const path = await secretFile('s1');
    const { code, said } = await login(` --client-id deploy --client-secret-file ${path}`);
    expect([code, said]).toEqual([0, expect.stringContaining(`Logged in to ${issuer}.`)]);
    const asked = { grant_type: 'client_credentials', resource: 'urn:tessera:admin' };
    expect(sent).toEqual([{ path: '/token', form: asked, authorization: basic('deploy', 's1') }]);
    expect(await readFile(file, 'utf8')).not.toContain('s1');
    await writeFile(path, 's2');
    valid.token = 'at2';
    expect(await run(roles)).toMatchObject({ code: 0 });
    expect(sent[1]).toEqual({ path: '/token', form: asked, authorization: basic('deploy', 's2') });
    expect(await run(roles)).toMatchObject({ code: 0 });
    expect(sent).toHaveLength(2);
    expect((await run('context list -o json')).said).toContain('"clientId": "deploy"');
    expect((await run('logout')).code).toBe(0);
    expect((await run(roles)).said).toContain('You are not logged in to id.example.com.');
  });

  it('logs in with a token of its platform and no secret, which is read again for each token (RFC 7523 §2.2)', async () => {
    const { login, run, sent, file, valid } = await world([short, next]);
    const path = await secretFile('e30.eyJzdWIiOiJvcmRlcnMifQ.AA');
    const { code, said } = await login(` --token-file ${path}`);
    expect([code, said]).toEqual([0, expect.stringContaining(`Logged in to ${issuer}.`)]);
    const asked = {
      grant_type: 'client_credentials',
      resource: 'urn:tessera:admin',
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    };
    const sentWith = (assertion: string) => ({
      path: '/token',
      form: { ...asked, client_assertion: assertion },
      authorization: null,
    });
    expect(sent).toEqual([sentWith('e30.eyJzdWIiOiJvcmRlcnMifQ.AA')]);
    expect(await readFile(file, 'utf8')).not.toContain('e30.');
    await writeFile(path, 'e30.eyJzdWIiOiJuZXcifQ.AA');
    valid.token = 'at2';
    expect(await run(roles)).toMatchObject({ code: 0 });
    expect(sent[1]).toEqual(sentWith('e30.eyJzdWIiOiJuZXcifQ.AA'));
    expect((await run('context list -o json')).said).not.toContain('clientId');
    expect((await run('logout')).code).toBe(0);
  });

  it('logs in again to the context that is its own', async () => {
    const { login, run, sent } = await world([short, next]);
    await login(` --client-id deploy --client-secret-file ${await secretFile('s1')}`);
    expect((await run('login')).code).toBe(0);
    expect(sent.map(({ form }) => form['grant_type'])).toEqual(['client_credentials', 'client_credentials']);
  });

  it('does not send its secret to another issuer that its context gets', async () => {
    const { login, run, sent } = await world([short, next]);
    await login(` --client-id deploy --client-secret-file ${await secretFile('s1')}`);
    await run(`login --no-qr --context id.example.com --issuer ${issuer}/t/acme`);
    expect(sent[1]).toMatchObject({ path: '/device_authorization', authorization: null });
    expect(sent.filter(({ authorization }) => authorization !== null)).toHaveLength(1);
  });

  it.each([
    ['--client-id deploy', 2, 'both --client-id and --client-secret-file'],
    ['--client-secret-file /nowhere', 2, 'both --client-id and --client-secret-file'],
    ['--client-id deploy --client-secret-file /nowhere', 1, 'Cannot read the file /nowhere'],
    ['--token-file /nowhere', 1, 'Cannot read the file /nowhere'],
    ['--token-file /dev/null', 1, 'The file /dev/null is empty, and should have the token'],
    ['--token-file /a --client-secret-file /b', 2, 'not both'],
  ])('does not log in with %s', async (options, exitCode, why) => {
    const { login, sent } = await world([short]);
    const { code, said } = await login(` ${options}`);
    expect([code, said]).toEqual([exitCode, expect.stringContaining(why)]);
    expect(sent).toEqual([]);
  });

  it('is told why it gets no token', async () => {
    const { login } = await world([{ error: 'invalid_client', error_description: 'unknown' }]);
    const { code, said } = await login(` --client-id deploy --client-secret-file ${await secretFile('s1')}`);
    expect([code, said]).toEqual([
      1,
      `The application deploy gets no token for the administration at ${issuer}: invalid_client: unknown\n`,
    ]);
  });
});

describe('a pipeline', () => {
  it('works with an access token and no context, and writes nothing', async () => {
    const { run, api, file, sent } = await world([]);
    const environment = { TESSERA_API: api, TESSERA_ACCESS_TOKEN_FILE: await secretFile('at1') };
    expect(await run(roles, environment)).toEqual({
      code: 0,
      said: expect.stringContaining('clerk') as string,
    });
    expect(sent).toEqual([]);
    await expect(stat(file)).rejects.toThrow('ENOENT');
  });

  it('works as an application, by a token for each run', async () => {
    const { run, api, file, sent, valid } = await world([next, next]);
    const environment = {
      TESSERA_API: api,
      TESSERA_ISSUER: issuer,
      TESSERA_CLIENT_ID: 'deploy',
      TESSERA_CLIENT_SECRET_FILE: await secretFile('s1'),
    };
    valid.token = 'at2';
    expect(await run(roles, environment)).toMatchObject({ code: 0 });
    valid.token = 'at3';
    expect(await run(roles, environment)).toEqual({
      code: 1,
      said: `The administration API at ${api} does not accept the application deploy.\n`,
    });
    expect(sent.map(({ authorization }) => authorization)).toEqual([
      basic('deploy', 's1'),
      basic('deploy', 's1'),
    ]);
    await expect(stat(file)).rejects.toThrow('ENOENT');
  });

  it('works as an application by its own token, as GitHub and GitLab give one to each job', async () => {
    const { run, api, file, sent, valid } = await world([next, next, { error: 'invalid_client' }]);
    const environment = { TESSERA_API: api, TESSERA_ISSUER: issuer };
    valid.token = 'at2';
    const token = 'e30.eyJzdWIiOiJyZXBvOnNob3Avb3JkZXJzIn0.AA';
    for (const given of [
      { TESSERA_CLIENT_ASSERTION: token },
      { TESSERA_CLIENT_ASSERTION_FILE: await secretFile(token), TESSERA_CLIENT_ID: 'deploy' },
    ])
      expect(await run(roles, { ...environment, ...given })).toMatchObject({ code: 0 });
    expect(sent).toMatchObject([
      { form: { client_assertion: token }, authorization: null },
      { form: { client_assertion: token, client_id: 'deploy' }, authorization: null },
    ]);
    expect(sent[0]?.form).not.toHaveProperty('client_id');
    const refused = await run(roles, { ...environment, TESSERA_CLIENT_ASSERTION: token });
    expect(refused).toEqual({
      code: 1,
      said: `The application that the token proves to be gets no token for the administration at ${issuer}: invalid_client\n`,
    });
    await expect(stat(file)).rejects.toThrow('ENOENT');
  });

  it('uses its own token in a context, whoever is logged in there', async () => {
    const { login, run, valid, file } = await world([answer('at1', 600)]);
    await login();
    valid.token = 'at9';
    expect(await run(roles, { TESSERA_ACCESS_TOKEN: 'at9' })).toMatchObject({ code: 0 });
    const { code, said } = await run(roles, { TESSERA_ACCESS_TOKEN: 'at8' });
    expect([code, said]).toEqual([
      1,
      expect.stringContaining('does not accept the token of TESSERA_ACCESS_TOKEN.'),
    ]);
    expect(said).not.toContain('at8');
    expect(await readFile(file, 'utf8')).toContain('at1');
  });

  it('reaches an API by the authority and the name in its certificate', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'tessera-contexts-tls-'));
    onTestFinished(async () => rm(directory, { recursive: true }));
    const { ca, certificates } = await createCertificates(directory, ['administration']);
    const { key = '', cert = '' } = certificates['administration'] ?? {};
    const { run, api } = await world([], { key: await readFile(key), cert: await readFile(cert) });
    const environment = { TESSERA_API: api, TESSERA_ACCESS_TOKEN: 'at1', TESSERA_API_CA_FILE: ca };
    expect(await run(roles, { ...environment, TESSERA_API_SERVER_NAME: 'administration' })).toMatchObject({
      code: 0,
    });
    expect((await run(roles, { TESSERA_API: api, TESSERA_ACCESS_TOKEN: 'at1' })).code).toBe(1);
  });

  it.each([
    [{ TESSERA_API: 'https://id.example:9002' }, 'TESSERA_API needs who asks'],
    [{ TESSERA_API: 'nowhere', TESSERA_ACCESS_TOKEN: 'at1' }, 'TESSERA_API must be an address'],
    [{ TESSERA_API: 'http://id.example', TESSERA_ACCESS_TOKEN: 'at1' }, 'TESSERA_API must begin with https'],
    [{ TESSERA_CONTEXT: 'environment' }, 'is where TESSERA_API says'],
    // The process at the usual port of this machine would get the secret.
    [
      { TESSERA_API: 'https://id.example:9002', TESSERA_CLIENT_ID: 'deploy', TESSERA_CLIENT_SECRET: 's1' },
      'TESSERA_ISSUER',
    ],
    [{ TESSERA_API: 'https://id.example:9002', TESSERA_CLIENT_ASSERTION: 'e30.e30.AA' }, 'TESSERA_ISSUER'],
    [
      {
        TESSERA_API: 'https://id.example:9002',
        TESSERA_CLIENT_ID: 'deploy',
        TESSERA_CLIENT_SECRET: 's1',
        TESSERA_CLIENT_ASSERTION: 'e30.e30.AA',
      },
      'not both',
    ],
  ])('is told what is missing in %o', async (environment, why) => {
    const { run, sent } = await world([]);
    const { code, said } = await run(roles, environment);
    expect(code).toBeGreaterThan(0);
    expect(said).toContain(why);
    expect(sent).toEqual([]);
  });

  const ofApi = [
    'TESSERA_CLIENT_ID',
    'TESSERA_CLIENT_SECRET',
    'TESSERA_CLIENT_SECRET_FILE',
    'TESSERA_CLIENT_ASSERTION',
    'TESSERA_CLIENT_ASSERTION_FILE',
    'TESSERA_API_CA',
    'TESSERA_API_CA_FILE',
    'TESSERA_API_SERVER_NAME',
  ];

  it.each(['TESSERA_ACCESS_TOKEN', 'TESSERA_ACCESS_TOKEN_FILE', ...ofApi])(
    'that sets %s and not TESSERA_API works as nobody else, neither at hand nor at the processes of TESSERA_PEERS',
    async (variable) => {
      const { run, file, api, calls } = await world([]);
      const folder = join(file, '..', '..', 'data');
      await mkdir(folder);
      const found = { target: new URL(api).host, token: 'x', issuer };
      await writeFile(join(folder, 'administration.json'), JSON.stringify(found), { mode: 0o600 });
      const here = { TESSERA_DATA_DIR: folder, TESSERA_ISSUER: issuer };
      const peers = { TESSERA_PEERS: `directory=${found.target}` };
      for (const environment of [here, { ...here, TESSERA_API: '' }, { ...here, ...peers }])
        expect(await run(roles, { ...environment, [variable]: 'set' })).toEqual({
          code: 2,
          said: expect.stringMatching(
            `^${variable} is set and TESSERA_API is not\\. Set TESSERA_API .*, or unset ${variable}, or choose by --context `,
          ) as string,
        });
      expect(calls).toEqual([]);
      await run(`${roles} --context local`, { ...here, [variable]: 'set' });
      expect(calls, 'with what says where').toHaveLength(1);
      await run(roles, { ...here, [variable]: '' });
      expect(calls).toHaveLength(2);
    },
  );

  it.each(ofApi)('that sets %s and not TESSERA_API does not work by a login', async (variable) => {
    const { login, run, calls } = await world([answer('at1', 600)]);
    await login();
    const { code, said } = await run(roles, { [variable]: 'set' });
    expect([code, said]).toEqual([2, expect.stringContaining(`${variable} is set and TESSERA_API is not.`)]);
    expect(calls).toEqual([]);
    expect((await run(`${roles} --context id.example.com`, { [variable]: 'set' })).code).toBe(0);
  });
});

describe('a context', () => {
  it('is the current one unless another one is named', async () => {
    const { login, run, api } = await world([answer('at1', 600)]);
    await login();
    const add = `context add --api ${api} --issuer ${issuer}`;
    expect((await run(`${add} other`)).code).toBe(0);
    expect((await run(`${add} other`)).said).toContain('There is a context other.');
    expect((await run(roles)).code).toBe(0);
    const notThere = 'You are not logged in to other. Run tessera login --context other.\n';
    expect((await run(`${roles} --context other`)).said).toBe(notThere);
    expect((await run(`--context other ${roles}`)).said).toBe(notThere);
    expect((await run(roles, { TESSERA_CONTEXT: 'other' })).said).toBe(notThere);
    await run('context use other');
    expect((await run(roles)).said).toBe(notThere);
    expect((await run('context remove other')).code).toBe(0);
    expect((await run(`${roles} --context other`)).said).toContain('There is no context other.');
    expect((await run('context remove id.example.com')).said).toContain('tessera logout');
  });

  it('called local is the process of the data directory, whatever is current', async () => {
    const { login, run } = await world([answer('at1', 600)]);
    await login();
    expect((await run(`${roles} --context local`)).said).toContain('No process serves the data directory');
    await run('context use local');
    expect((await run(roles)).said).toContain('No process serves the data directory');
  });

  it('gives way to a database with --direct alone, and is not mixed with it', async () => {
    const { login, run } = await world([answer('at1', 600)]);
    await login();
    const database = { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' };
    expect((await run(roles, database)).code).toBe(0);
    expect((await run(`${roles} --direct`, database)).said).toContain('TESSERA_DIRECTORY_PEPPER');
    expect((await run(`${roles} --direct --context id.example.com`, database)).code).toBe(2);
    expect((await run(`${roles} --direct`)).code).toBe(2);
    expect((await run(`${roles} --context id.example.com`, database)).code).toBe(0);
  });

  it.each([
    ['context add local --issuer https://id.example', 'built in'],
    ['context add environment --issuer https://id.example', 'built in'],
    ['context add a/b --issuer https://id.example', 'no name'],
    ['context add a --issuer nowhere', '--issuer must be'],
    ['context add a --issuer http://id.example', '--issuer must begin with https://'],
    ['context add a --issuer https://id.example --api http://id.example', '--api must begin with https://'],
    ['context use local --tenant acme', 'TESSERA_TENANT'],
    ['context use nobody', 'There is no context'],
  ])('is refused by %s', async (words, why) => {
    const { run } = await world([]);
    const { code, said } = await run(words);
    expect(code).toBeGreaterThan(0);
    expect(said).toContain(why);
  });
});

describe('a context of an earlier version', () => {
  it('sends its login to no address that others on the way can read', async () => {
    const { login, run, file, api, calls } = await world([answer('at1', 600)]);
    await login();
    const kept = await readFile(file, 'utf8');
    await writeFile(file, kept.replace(api, 'http://admin.example'));
    expect(await run(roles)).toEqual({
      code: 2,
      said: expect.stringMatching(
        /^The API of the context id\.example\.com must begin with https:/,
      ) as string,
    });
    expect(calls).toEqual([]);
  });
});

describe('the tenant of a command', () => {
  const nameIt =
    'Name the tenant: by --tenant, by TESSERA_TENANT, or for a context by tessera context use <name> --tenant <id>.\n';

  it('is that of the option, else of TESSERA_TENANT, else of the context', async () => {
    const { login, run, calls } = await world([answer('at1', 600)]);
    await login();
    expect(await run('role list')).toEqual({ code: 2, said: nameIt });
    expect(await run('context use id.example.com --tenant initech')).toEqual({
      code: 0,
      said: 'Commands use the context id.example.com, and its tenant initech unless they name one.\n',
    });
    for (const [words, environment, tenant] of [
      ['role list', {}, 'initech'],
      ['role list', { TESSERA_TENANT: 'globex' }, 'globex'],
      ['role list --tenant acme', { TESSERA_TENANT: 'globex' }, 'acme'],
      ['role list --context id.example.com', { DATABASE_URL: 'postgres://127.0.0.1:1/none' }, 'initech'],
    ] as const) {
      expect(await run(words, environment)).toMatchObject({ code: 0 });
      expect(calls.at(-1)).toContain(tenant);
    }
    await run('context use id.example.com --no-tenant');
    expect((await run('role list')).said).toBe(nameIt);
  });

  it('is that of the issuer where the login is for one tenant, and no other', async () => {
    const { login, run, calls } = await world([answer('at1', 600)]);
    await login(' --tenant acme');
    expect((await run('role list')).code).toBe(0);
    expect(calls.at(-1)).toContain('acme');
    expect(await run('context use id.example.com-acme --tenant globex')).toEqual({
      code: 2,
      said: 'The context id.example.com-acme is for the tenant acme alone.\n',
    });
  });

  it('is not that of the current context where the command works on another installation', async () => {
    const { login, run } = await world([answer('at1', 600)]);
    await login();
    await run('context use id.example.com --tenant initech');
    for (const [words, environment] of [
      ['role list --direct', { DATABASE_URL: 'postgres://127.0.0.1:1/none' }],
      ['role list', { TESSERA_PEERS: 'directory=127.0.0.1:1' }],
    ] as const)
      expect(await run(words, environment)).toEqual({ code: 2, said: nameIt });
  });

  it('has to be named to delete or disable a tenant, and to import people', async () => {
    const { login, run, calls } = await world([answer('at1', 600)]);
    await login();
    await run('context use id.example.com --tenant initech');
    for (const words of ['tenant delete', 'tenant disable', 'tenant update --name X', 'import people x.json'])
      expect((await run(words, { TESSERA_TENANT: 'acme' })).code).toBe(2);
    expect(calls).toEqual([]);
  });

  it('stays with a login that is repeated, and not with one at another issuer', async () => {
    const { login, run, file } = await world([answer('at1', 600), answer('at1', 600), answer('at1', 600)]);
    await login();
    await run('context use id.example.com --tenant initech');
    await run('login --no-qr');
    expect(await readFile(file, 'utf8')).toContain('"defaultTenant": "initech"');
    await run(`login --no-qr --context id.example.com --issuer ${issuer}/t/acme`);
    expect(await readFile(file, 'utf8')).not.toContain('initech');
  });
});

describe('a command that changes something', () => {
  it('says first where it works, and in which tenant unless that is named', async () => {
    const { login, where, api } = await world([answer('at1', 600)]);
    await login();
    const create = 'role create clerk';
    const here = `${api} (context id.example.com)`;
    expect(await where(`${create} --tenant acme`)).toBe(`On ${here}.\n`);
    expect(await where(create, { TESSERA_TENANT: 'acme' })).toBe(`On ${here}, tenant acme.\n`);
    expect(await where(`${create} --tenant acme --context id.example.com`)).toBe('');
    expect(await where(`${create} --context id.example.com`, { TESSERA_TENANT: 'acme' })).toBe(
      `On ${here}, tenant acme.\n`,
    );
    const pipeline = { TESSERA_API: api, TESSERA_ACCESS_TOKEN: 'at1' };
    expect(await where(`${create} --tenant acme`, pipeline)).toBe(`On ${api} (TESSERA_API).\n`);
    expect(await where(`${create} --validate-only`, { TESSERA_TENANT: 'acme' })).toBe(
      `On ${here}, tenant acme.\n`,
    );
    expect(await where('role list', { TESSERA_TENANT: 'acme' })).toBe('');
  });
});
