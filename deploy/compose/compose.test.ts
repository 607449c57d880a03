import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { processes } from '../image/processes.ts';
import { configurationProblems } from '../../apps/cli/src/processes.ts';

interface Dependency {
  readonly condition: string;
}

interface Service {
  readonly image: string;
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly depends_on?: Readonly<Record<string, Dependency>>;
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly volumes?: readonly string[];
  readonly networks?: readonly string[];
  readonly read_only?: boolean;
}

interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes?: Readonly<Record<string, unknown>>;
  readonly networks?: Readonly<Record<string, unknown>>;
}

const read = (name: string) =>
  parse(readFileSync(join(import.meta.dirname, name), 'utf8'), { merge: true }) as Compose;

/** Services of one file that run a process of ours. */
const ours = ({ services }: Compose) =>
  Object.entries(services).filter(([, { command }]) => Object.hasOwn(processes, command?.[0] ?? ''));

describe.each(['compose.yaml', 'compact.yaml'])('deploy/compose/%s', (name) => {
  const compose = read(name);

  test('refers to services, volumes and networks that it has', () => {
    for (const service of Object.values(compose.services)) {
      for (const dependency of Object.keys(service.depends_on ?? {}))
        expect(compose.services).toHaveProperty(dependency);
      for (const volume of service.volumes ?? [])
        expect(compose.volumes).toHaveProperty(volume.split(':', 1)[0] ?? '');
      for (const network of service.networks ?? []) expect(compose.networks).toHaveProperty(network);
    }
  });

  test('starts a service only when those it waits for are healthy, or are done', () => {
    for (const { depends_on: dependencies = {} } of Object.values(compose.services)) {
      for (const [other, { condition }] of Object.entries(dependencies)) {
        const isGated = compose.services[other]?.healthcheck !== undefined;
        expect(condition).toBe(isGated ? 'service_healthy' : 'service_completed_successfully');
      }
    }
  });

  test('runs every process read-only, with a health check that needs no shell', () => {
    expect(ours(compose).length).toBeGreaterThan(0);
    for (const [, service] of ours(compose)) {
      expect(service.read_only).toBe(true);
      expect(service.healthcheck?.test.slice(0, 2)).toEqual(['CMD', 'node']);
    }
  });

  test.each(ours(compose))('gives %s settings that its own schema accepts', (_name, service) => {
    const secrets = mkdtempSync(join(tmpdir(), 'tessera-compose-'));
    try {
      const script = join(import.meta.dirname, '..', 'image', 'make-secrets.ts');
      execFileSync(process.execPath, [script, secrets]);
      const before = readdirSync(secrets).map((file) => readFileSync(join(secrets, file), 'utf8'));
      execFileSync(process.execPath, [script, secrets]);
      expect(readdirSync(secrets).map((file) => readFileSync(join(secrets, file), 'utf8'))).toEqual(before);
      const environment = Object.fromEntries(
        Object.entries(service.environment ?? {}).map(([key, value]) => [
          key,
          // With what compose puts in if nothing is set.
          value.replace('/run/tessera', secrets).replace(/\$\{\w+:-([^}]*)\}/, '$1'),
        ]),
      );
      const command = service.command?.[0] ?? '';
      const made = command === 'standalone' ? standaloneSecrets(secrets) : {};
      expect(configurationProblems(command, { ...environment, ...made })).toEqual([]);
    } finally {
      rmSync(secrets, { recursive: true });
    }
  });
});

test('mail of the split topology goes to the server that is set, which is outside', () => {
  const { environment = {}, networks } = read('compose.yaml').services['directory'] ?? {};
  for (const name of ['TESSERA_SMTP_URL', 'TESSERA_SMTP_TLS', 'TESSERA_MAIL_FROM'])
    expect(environment[name]).toMatch(new RegExp(`^\\$\\{${name}:-`));
  expect(networks).toContain('outside');
});

test('The split topology has a container for every process but the compact one', () => {
  const names = ours(read('compose.yaml')).map(([name]) => name);
  expect(names.toSorted()).toEqual(['admin', 'authorize', 'device', 'directory', 'gateway', 'keys', 'token']);
});

/** Compact makes its own at the first start, before its settings are read. */
function standaloneSecrets(secrets: string): Record<string, string> {
  return {
    TESSERA_KEYS_KEK_FILE: join(secrets, 'keys-kek'),
    TESSERA_DIRECTORY_PEPPER_FILE: join(secrets, 'directory-pepper'),
    TESSERA_TOKEN_REFRESH_KEYS_FILE: join(secrets, 'token-refresh-keys'),
  };
}
