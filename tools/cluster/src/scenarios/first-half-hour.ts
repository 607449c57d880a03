import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decideDevice, fillIn, HttpClient, Person } from '@tessera/test-client';
import { until, type Namespace } from '../kubernetes.ts';
import { certificatesOf, imageValues, valuesOf } from '../release.ts';
import { check, NotPossibleHere, type Scenario, type Stage } from '../scenario.ts';
import { newSecret } from '../secrets.ts';
import { readGuide } from '../walk/guide.ts';
import { openShell, type Shell } from '../walk/shell.ts';

const trial = readGuide('try-on-a-cluster.md');
const guide = readGuide('first-half-hour.md');

/** The ports of this machine that the guide forwards. */
const ports = [8080, 9002];
const issuer = 'http://localhost:8080';
const people = Array.from({ length: 10 }, (_, index) => `person-${index + 1}`);

/**
 * docs/first-half-hour.md, typed as it stands, in a namespace of its own beside the release: install, the first
 * administrator, a login through forwarded ports, a tenant, ten invited people, a service and its new secret.
 */
export const firstHalfHour: Scenario = {
  name: 'first half hour',
  errors: 'none',
  async run(stage) {
    const { on } = stage;
    for (const port of ports)
      if (!(await isFree(port))) throw new NotPossibleHere(`port ${port} of this machine is in use`);
    const beside = await on.beside('half-hour');
    const folder = mkdtempSync(join(tmpdir(), 'tessera-half-hour-'));
    const shell = openShell(
      [`helm() { '${on.helmCommand}' "$@"; }`, ...guide.step(3).filter((line) => line.startsWith('alias '))],
      {
        ...process.env,
        DATABASE_URL: '',
        XDG_CONFIG_HOME: folder,
        TESSERA_DATA_DIR: join(folder, 'data'),
      },
    );
    let isOver = false;
    const end = async () => {
      if (isOver) return;
      isOver = true;
      shell.end();
      rmSync(folder, { recursive: true });
      await beside.remove();
    };
    on.atTheEnd(end);
    try {
      return await walk(stage, beside, folder, shell);
    } finally {
      await end();
    }
  },
};

async function walk(stage: Stage, on: Namespace, folder: string, shell: Shell): Promise<string> {
  const started = performance.now();
  const typed: string[] = [];
  const isSplit = stage.release.topology === 'split';
  const administration = `admin.tessera.${on.name}.svc.cluster.local`;
  /** A line of the guide in this namespace, with files in this folder, and the one value that it leaves open. */
  const typeOf = (line: string, open = ''): string => {
    typed.push(line);
    const here = line
      .replaceAll(/(-n|--namespace) tessera\b/g, `$1 ${on.name}`)
      .replaceAll(/\b(trial\.yaml|people\.csv|links\.csv|ca\.pem)\b/g, `${folder}/$1`)
      .replaceAll('tessera-administration.tessera.svc', administration)
      .replaceAll('=...', `=${open}`);
    return isSplit
      ? here
          .replaceAll('service/tessera-standalone', 'service/tessera-gateway')
          .replaceAll('deploy/tessera-standalone', 'deploy/tessera-directory')
      : here;
  };
  const type = (line: string, open?: string) => shell.run(typeOf(line, open));

  const [, ...secrets] = trial.step(2);
  for (const line of secrets) await type(line);
  writeFileSync(join(folder, 'trial.yaml'), trial.yaml);
  writeFileSync(join(folder, 'ca.pem'), stage.authority.cert);
  if (isSplit) await on.apply(await certificatesOf(on, stage.authority));
  const [install = '', ...forwards] = guide.step(1);
  await shell.run(`${typeOf(install)} ${valuesHere(stage, on, folder)}`);
  const forwarded = forwards.map((line) => shell.start(typeOf(line)));
  await until('no port is forwarded', async () =>
    forwarded.every(({ printed }) => printed().includes('Forwarding from')) ? true : undefined,
  );

  const [bootstrap = ''] = guide.step(2);
  const admin = person('operators', 'admin');
  await choosePassword(admin, (await type(bootstrap)).trim());
  const [, login = ''] = guide.step(3);
  const certified = ` --api https://127.0.0.1:9002 --ca-file ca.pem --server-name tessera-administration.tessera.svc`;
  const loggingIn = shell.start(typeOf(isSplit ? login + certified : login));
  let failed: string | undefined;
  loggingIn.output.catch((error: unknown) => (failed = String(error)));
  const code = await until('no code to enter', async () => {
    check(failed === undefined, `no login: ${failed}`);
    return /Enter +(\S+)/.exec(loggingIn.printed())?.[1];
  });
  await decideDevice(admin, code, 'approve');
  await loggingIn.output;

  for (const line of guide.step(4)) await type(line);

  const lines = people.map((name) => `${name},${name}@acme.example,${name}`);
  writeFileSync(join(folder, 'people.csv'), ['username,email,name', ...lines, ''].join('\n'));
  const [invite = ''] = guide.step(5);
  await type(invite);
  const links = readFileSync(join(folder, 'links.csv'), 'utf8').trim().split('\n').slice(1);
  check(links.length === people.length, `${links.length} links for ${people.length} people`);
  const [username = '', , link = ''] = links[0]?.split(',') ?? [];
  const invited = person('acme', username);
  await choosePassword(invited, link);
  const page = await fillIn(
    invited,
    await invited.get('/password?tenant=acme'),
    'password',
    credentialsOf(invited),
  );
  check(page.text.includes('Change your password'), `an invited person cannot sign in: ${page.status}`);

  const [application = '', createSecret = '', token = ''] = guide.step(6);
  const [createNext = '', listSecrets = '', deleteSecret = ''] = guide.step(7);
  const hasToken = async (secret: string) => (await type(token, secret)).includes('"access_token"');
  await type(application);
  const first = (await type(createSecret)).trim();
  check(await hasToken(first), 'no token for the first secret');
  const [firstId = ''] = (await type(listSecrets)).split(':');
  const next = (await type(createNext)).trim();
  check((await hasToken(first)) && (await hasToken(next)), 'no token for one of two secrets');
  await type(deleteSecret, firstId);
  await until('the old secret still works', async () => ((await hasToken(first)) ? undefined : true));
  check(await hasToken(next), 'no token for the new secret');
  const seconds = Math.round((performance.now() - started) / 1000);
  return `${seconds} s without the typing of ${new Set(typed).size} lines`;
}

/** Arguments for what this cluster and topology need in addition to the values of the guide. */
function valuesHere({ image, stores, valuesFile, release }: Stage, on: Namespace, folder: string): string {
  const { mtls } = valuesOf(on.name, release.topology, image)['rpc'] as { readonly mtls: object };
  const values = {
    topology: release.topology,
    image: imageValues(image),
    throwAwayStores: { postgresImage: stores.postgres, redisImage: stores.redis },
    ...(release.topology === 'split' && { rpc: { mtls } }),
  };
  const file = join(folder, 'here.json');
  writeFileSync(file, JSON.stringify(values));
  return [file, ...(valuesFile === undefined ? [] : [valuesFile])]
    .map((path) => `--values '${path}'`)
    .join(' ');
}

const person = (tenant: string, username: string): Person =>
  new Person(new HttpClient(() => issuer), { tenant, username, password: newSecret() });

const credentialsOf = ({ login: { username, password } }: Person) => ({ identifier: username, password });

/** Opens a link and sets the password on its page. */
async function choosePassword(who: Person, link: string): Promise<void> {
  const { password } = who.login;
  const { pathname, search, origin } = new URL(link);
  check(origin === issuer, `the link leads to ${origin}`);
  const chosen = { new_password: password, repeated_password: password };
  const { status, text } = await fillIn(who, await who.get(pathname + search), 'new_password', chosen);
  check(text.includes('Your password is set'), `the link sets no password: ${status}`);
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  const { promise, resolve } = Promise.withResolvers<boolean>();
  server.once('error', () => resolve(false));
  server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  return promise;
}
