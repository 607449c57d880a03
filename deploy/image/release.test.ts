import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePort, holdProcess, type HeldProcess } from '@tessera/test-kit/provision';
import { foreign, loaderOf, makeBases, own, type Architecture } from './base-images.ts';
import { processes } from './processes.ts';

interface Descriptor {
  readonly digest: string;
  readonly mediaType: string;
  readonly platform?: { readonly architecture: Architecture; readonly os: string };
}
interface Manifest {
  readonly config: Descriptor;
  readonly layers: readonly Descriptor[];
}

const repository = dirname(dirname(import.meta.dirname));
const tool = (name: string) => process.env[`TESSERA_TEST_${name}`] ?? '';
const version = '9.8.7-rc.1';

const directory = mkdtempSync(join(tmpdir(), 'tessera-release-test-'));
const output = join(directory, 'output');
const port = await freePort();
const host = `127.0.0.1:${port}`;
/** Storage, registries and build of this test alone, and without rights that a container may lack. */
const environment = {
  ...process.env,
  BUILDAH_ISOLATION: 'chroot',
  CONTAINERS_STORAGE_CONF: join(directory, 'storage.conf'),
  CONTAINERS_REGISTRIES_CONF: join(directory, 'registries.conf'),
  HELM_CONFIG_HOME: join(directory, 'helm'),
  PATH: [...['HELM', 'ORAS', 'BUILDAH'].map((name) => dirname(tool(name))), process.env['PATH']].join(
    delimiter,
  ),
};
let registry: HeldProcess;

const run = (command: string, ...args: readonly string[]) =>
  execFileSync(command, args, {
    env: environment,
    cwd: directory,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });

function release(...args: readonly string[]) {
  const ca = process.env['NODE_EXTRA_CA_CERTS'];
  const from = ['--build-arg', `NODE_IMAGE=${host}/node:base`];
  const npm = ['--build-arg', `NPM_REGISTRY=${run('npm', 'config', 'get', 'registry').trim()}`];
  const place = ['--registry', `${host}/team`, '--version', version, '--output', output, '--plain-http'];
  return spawnSync(
    process.execPath,
    [join(repository, 'scripts/release.ts'), ...place, ...from, ...npm, ...(ca ? ['--ca', ca] : []), ...args],
    { env: environment, cwd: repository, encoding: 'utf8', maxBuffer: 1 << 26 },
  );
}

async function ask(path: string): Promise<Response> {
  const accept = 'application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json';
  return fetch(`http://${host}/v2/${path}`, { headers: { accept } });
}
const json = async <T>(path: string) => (await (await ask(path)).json()) as T;

/** Lays the layers of the released image of a platform over each other. */
async function unpack(architecture: Architecture): Promise<string> {
  const target = join(directory, `root-${architecture}`);
  mkdirSync(target);
  const { layers } = await manifestOf(architecture);
  for (const { digest } of layers) {
    const archive = join(directory, 'layer.tar');
    writeFileSync(archive, await (await ask(`team/tessera/blobs/${digest}`)).bytes());
    run('tar', '--extract', '--file', archive, '--directory', target);
  }
  return target;
}

const indexOf = () => json<{ manifests: readonly Descriptor[] }>(`team/tessera/manifests/${version}`);

async function manifestOf(architecture: Architecture): Promise<Manifest> {
  const { manifests } = await indexOf();
  const found = manifests.find(({ platform }) => platform?.architecture === architecture);
  return json<Manifest>(`team/tessera/manifests/${found?.digest}`);
}

const releasedDigest = () => readFileSync(join(output, 'digest'), 'utf8').trim();

function configure(): void {
  const storage = `graphroot = "${directory}/graph"\nrunroot = "${directory}/run"\n`;
  writeFileSync(environment.CONTAINERS_STORAGE_CONF, `[storage]\ndriver = "overlay"\n${storage}`);
  writeFileSync(
    environment.CONTAINERS_REGISTRIES_CONF,
    `[[registry]]\nlocation = "${host}"\ninsecure = true\n`,
  );
  writeFileSync(
    join(directory, 'registry.yml'),
    `version: 0.1\nlog: { level: warn }\nstorage: { filesystem: { rootdirectory: ${directory}/registry } }\nhttp: { addr: '${host}' }\n`,
  );
}

function pushBases(): void {
  const bases = makeBases(join(directory, 'bases'));
  const file = join(directory, 'Base');
  writeFileSync(file, 'FROM scratch\nCOPY . /\nENV PATH=/usr/local/bin:/usr/bin\n');
  run('buildah', 'manifest', 'create', 'base');
  for (const [architecture, base] of Object.entries(bases))
    run(
      'buildah',
      'build',
      '--platform',
      `linux/${architecture}`,
      '--manifest',
      'base',
      '--file',
      file,
      base,
    );
  run('buildah', 'manifest', 'push', '--all', '--tls-verify=false', 'base', `docker://${host}/node:base`);
}

beforeAll(async () => {
  configure();
  const args = ['serve', join(directory, 'registry.yml')];
  registry = holdProcess({ command: tool('REGISTRY'), args, signal: 'TERM' });
  await registry.until(() => ask(''));
  pushBases();
}, 1_800_000);

afterAll(async () => {
  await registry.stop();
  run('buildah', 'rm', '--all');
  run('buildah', 'rmi', '--all', '--force');
  // As root, buildah leaves its storage mounted.
  spawnSync('umount', [join(directory, 'graph/overlay')]);
  rmSync(directory, { recursive: true });
});

describe('npm run release', () => {
  test('builds everything and pushes nothing with --dry-run', async () => {
    const { status, stderr, stdout } = release('--dry-run');
    expect(status, stderr.slice(-4000)).toBe(0);
    expect(stdout).toContain('Nothing was pushed');
    for (const path of ['image/index.json', `tessera-${version}.tgz`, 'tessera.cdx.json', 'digest'])
      expect(existsSync(join(output, path)), path).toBe(true);
    expect(await json('_catalog')).toEqual({ repositories: ['node'] });
  }, 1_800_000);

  test('pushes image and chart, and prints where they are', async () => {
    const { status, stderr, stdout } = release();
    expect(status, stderr.slice(-4000)).toBe(0);
    expect(stdout).toContain(`image: ${host}/team/tessera:${version}@${releasedDigest()}\n`);
    expect(stdout).toContain(`chart: oci://${host}/team/charts/tessera, version ${version}\n`);
    expect(await json('_catalog')).toEqual({ repositories: ['node', 'team/charts/tessera', 'team/tessera'] });
  }, 1_800_000);

  test('gives the image two platforms under one digest', async () => {
    const answer = await ask(`team/tessera/manifests/${version}`);
    expect(answer.headers.get('docker-content-digest')).toBe(releasedDigest());
    const { manifests } = (await answer.json()) as { manifests: readonly Descriptor[] };
    const platforms = manifests.map(({ platform }) => `${platform?.os}/${platform?.architecture}`);
    expect(platforms.toSorted()).toEqual(['linux/amd64', 'linux/arm64']);
  });

  test.each(['amd64', 'arm64'] as const)(
    'labels the image of %s with version and commit',
    async (architecture) => {
      const { config } = await manifestOf(architecture);
      const described = await json<{
        architecture: string;
        config: { User: string; Labels: Record<string, string> };
      }>(`team/tessera/blobs/${config.digest}`);
      expect(described).toMatchObject({ architecture, config: { User: '1000:1000' } });
      expect(described.config.Labels['org.opencontainers.image.version']).toBe(version);
      const commit = run('git', '-C', repository, 'rev-parse', 'HEAD').trim();
      expect(described.config.Labels['org.opencontainers.image.revision']).toMatch(
        new RegExp(`^${commit}(-changed)?$`),
      );
    },
  );

  test('ships Node and libraries of the other platform, and nothing else of its base', async () => {
    const root = await unpack(foreign);
    const text = (path: string) => readFileSync(join(root, path), 'utf8');
    expect(text('usr/local/bin/node')).toBe(`Node of ${foreign}`);
    for (const name of ['libc.so.6', 'libstdc++.so.6'])
      expect(text(`lib64/${name}`)).toBe(`${name} of ${foreign}`);
    expect(text(loaderOf(foreign))).toContain(` of ${foreign}`);
    expect(text('app/deploy/image/start.ts')).not.toBe('');
    expect(existsSync(join(root, 'usr/bin'))).toBe(false);
  });

  test.runIf(process.getuid?.() === 0)('ships a Node that runs in the image of this platform', async () => {
    const root = await unpack(own);
    const command = ['/usr/local/bin/node', '/app/deploy/image/start.ts', 'gatewy'];
    const { status, stderr } = spawnSync('chroot', ['--userspec=1000:1000', root, ...command], {
      encoding: 'utf8',
    });
    expect(stderr).toContain(Object.keys(processes)[0]);
    expect(status).toBe(64);
    expect(spawnSync('chroot', [root, '/bin/sh']).status).toBe(127);
  });

  test('attaches the bill of materials to the image', () => {
    const image = `${host}/team/tessera@${releasedDigest()}`;
    const found = JSON.parse(run('oras', 'discover', '--plain-http', '--format', 'json', image)) as {
      referrers: readonly { digest: string; artifactType: string }[];
    };
    expect(found.referrers.map(({ artifactType }) => artifactType)).toEqual([
      'application/vnd.cyclonedx+json',
    ]);
    const digest = found.referrers[0]?.digest ?? '';
    run('oras', 'pull', '--plain-http', '--output', 'pulled', `${host}/team/tessera@${digest}`);
    const pulled = readFileSync(join(directory, 'pulled/tessera.cdx.json'), 'utf8');
    expect(pulled).toBe(readFileSync(join(output, 'tessera.cdx.json'), 'utf8'));
    const { components } = JSON.parse(pulled) as { components: readonly { name: string }[] };
    expect(components.map(({ name }) => name)).toEqual(expect.arrayContaining(['fastify', 'pg', 'jose']));
  });

  test('gives the chart the image by its digest, so that it installs without a value for it', () => {
    const chart = `oci://${host}/team/charts/tessera`;
    const values = join(repository, 'deploy/helm/tessera/ci/compact-values.yaml');
    const text = run(
      'helm',
      'template',
      'id',
      chart,
      '--plain-http',
      '--version',
      version,
      '--values',
      values,
      // Without a cluster helm assumes an old one.
      '--kube-version',
      '1.34.0',
    );
    const images = parseAllDocuments(text)
      .map((document) => document.toJS() as { kind?: string; spec?: { template?: { spec?: Pod } } } | null)
      .filter((manifest) => manifest?.kind === 'Deployment')
      .flatMap((manifest) => manifest?.spec?.template?.spec?.containers ?? [])
      .map(({ image }) => image);
    expect(images).toContain(`${host}/team/tessera@${releasedDigest()}`);
    expect(text).toContain(`app.kubernetes.io/version: ${version}`);
  });

  test.each([
    { args: ['--registry', 'https://registry.example'], said: '--registry must be' },
    { args: ['--version', 'latest'], said: '--version must be' },
    { args: ['--tag', 'x'], said: "Unknown option '--tag'" },
  ])('refuses $args and shows its options', ({ args, said }) => {
    const { status, stderr } = release(...args);
    expect(status).toBe(1);
    expect(stderr).toContain(said);
    expect(stderr).toContain('--dry-run');
  });
});

interface Pod {
  readonly containers: readonly { readonly image: string }[];
}
