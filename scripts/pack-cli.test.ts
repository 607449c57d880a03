import { execFile, execFileSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fakeAdministration } from '../libs/admin-client/src/testing/fake-administration.ts';
import { packCli } from './pack-cli.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '..');
let work: string;
let folder: string;
let others: readonly string[];
beforeAll(async () => {
  work = mkdtempSync(join(tmpdir(), 'pack-cli-'));
  folder = join(work, 'cli');
  others = await packCli(folder, '7.8.9');
});
afterAll(() => rmSync(work, { recursive: true }));

/** Runs the packed command where nothing else is. */
async function tessera(words: string, environment: Readonly<Record<string, string>> = {}) {
  const env = { PATH: process.env['PATH'] ?? '', HOME: work, XDG_CONFIG_HOME: work, ...environment };
  const command = [join(folder, 'bin/tessera.js'), ...words.split(' ')];
  const done = run(process.execPath, ['--no-strip-types', ...command], { env, cwd: work });
  return done.then(
    ({ stdout, stderr }) => ({ code: 0, out: stdout, said: stderr }),
    ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({
      code,
      out: stdout,
      said: stderr,
    }),
  );
}

describe('the packed command line', () => {
  it('has compiled code, no test, and at most 15 MB when it is packed', () => {
    const files = globSync('**/*', { cwd: folder, withFileTypes: true }).filter((file) => file.isFile());
    expect(files.filter(({ name }) => /\.ts$|\.test\./.test(name))).toEqual([]);
    const names = files.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['0069_baseline.sql', '0020_baseline.sql', 'en.json']));
    const [packed] = JSON.parse(
      execFileSync('npm', ['pack', folder, '--dry-run', '--json'], { cwd: work, encoding: 'utf8' }),
    ) as [{ readonly size: number; readonly name: string; readonly version: string }];
    expect(packed).toMatchObject({ name: '@tessera/cli', version: '7.8.9' });
    expect(packed.size).toBeLessThan(15_000_000);
  });

  it('gives the license of each library whose code it has', () => {
    const licenses = readFileSync(join(folder, 'THIRD-PARTY-LICENSES'), 'utf8');
    expect(others).toContain('node_modules/commander');
    for (const other of others) {
      const { name, version } = JSON.parse(readFileSync(join(root, other, 'package.json'), 'utf8')) as {
        name: string;
        version: string;
      };
      expect(licenses).toContain(`${name} ${version} (`);
    }
  });

  it('says its version, and what it can, as the command of a checkout does', async () => {
    expect(await tessera('--version')).toEqual({ code: 0, out: '7.8.9\n', said: '' });
    const { stdout } = await run(process.execPath, [join(root, 'apps/cli/src/main.ts'), '--help']);
    expect((await tessera('--help')).out).toBe(stdout);
  });

  it('calls the administration API', async () => {
    const administration = await fakeAdministration();
    const environment = {
      TESSERA_API: administration.url,
      TESSERA_ISSUER: administration.url,
      TESSERA_ACCESS_TOKEN: 'good',
    };
    try {
      const made = await tessera('user create --tenant demo --username eve -o json', environment);
      expect([made.code, made.said]).toEqual([0, `On ${administration.url} (TESSERA_API).\n`]);
      expect(JSON.parse(made.out)).toMatchObject({ username: 'eve', userId: 'usr_1' });
    } finally {
      administration.close();
    }
  });

  it('reads what its modules have beside themselves', async () => {
    const state = join(work, 'state.yaml');
    writeFileSync(
      state,
      'tenants: [{ id: acme, name: Acme, users: [{ username: ada, password: password1 }] }]\n',
    );
    const checked = await tessera(`check --file ${state}`);
    expect(checked.code).toBe(1);
    expect(checked.out + checked.said).toContain('common');
    writeFileSync(
      state,
      'tenants: [{ id: acme, name: Acme, applications: [{ clientId: web, name: Web, type: confidential, secrets: [{ value: a-secret-of-forty-three-characters-or-more-12345 }], grantTypes: [authorization_code], redirectUris: ["https://a.example/cb"], scopes: [openid] }] }]\n',
    );
    const snippet = await tessera(`client-config web go-oidc --file ${state}`, {
      TESSERA_ISSUER: 'https://id.example',
    });
    expect([snippet.code, snippet.out + snippet.said]).toEqual([0, expect.stringContaining('id.example')]);
  });
});
