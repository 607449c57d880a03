import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { DeclaredStateError } from './declared-state-error.ts';
import { resolveDeclaredState } from './resolve.ts';

const text = `tenants:
  - id: acme
    name: fromEnv
`;

function state(user: string, secret: string): string {
  return `tenants:
  - id: acme # a comment
    users:
      - username: ada
        ${user}
        name: Ada
    applications:
      - clientId: acme-web
        secrets:
          - { ${secret}, expiresAt: 2030-01-31T12:00:00Z }
          - value: plain
`;
}

const sources = {
  environment: { PASSWORD: 'a "quoted"\tone: # \u2028 *x', SECRET: 'from-the-environment' },
  readFile: (path: string) =>
    path === '/etc/tessera/secrets/ada'
      ? Promise.resolve('of the file\n')
      : Promise.reject(Object.assign(new Error('no such file'), { code: 'ENOENT' })),
};

function resolve(document: string) {
  return resolveDeclaredState(document, '/etc/tessera/state.yaml', sources);
}

describe('references in a declared state', () => {
  it('are replaced by values from the environment and files, and nothing else changes', async () => {
    const before = state('passwordFromEnv: PASSWORD # why', 'fromEnv: SECRET');
    const after = await resolve(before);
    expect(after.split('\n')).toHaveLength(before.split('\n').length);
    expect(after).toContain('# why');
    expect(parse(after)).toEqual(
      parse(
        before
          .replace('passwordFromEnv: PASSWORD', `password: ${JSON.stringify(sources.environment.PASSWORD)}`)
          .replace('fromEnv: SECRET', 'value: from-the-environment'),
      ),
    );
  });

  it('stand in a provider too', async () => {
    const provider = (key: string) => `tenants:\n  - id: acme\n    providers:\n      - ${key}\n`;
    expect(await resolve(provider('clientSecretFromEnv: SECRET'))).toBe(
      provider('clientSecret: "from-the-environment"'),
    );
    expect(await resolve(provider('clientSecretFromFile: secrets/ada'))).toBe(
      provider('clientSecret: "of the file"'),
    );
  });

  it('resolve files relative to the declared file and drop a trailing newline', async () => {
    const after = await resolve(state("passwordFromFile: 'secrets/ada'", 'value: x'));
    expect(after).toContain('password: "of the file"');
  });

  it('are all reported by file, line and key if they cannot be resolved', async () => {
    const broken = resolve(state('passwordFromFile: nowhere', 'fromEnv: NOT_SET'));
    await expect(broken).rejects.toThrow(DeclaredStateError);
    await expect(broken).rejects.toThrow(
      [
        '/etc/tessera/state.yaml:5:9: tenants[0].users[0].passwordFromFile: the file cannot be read (ENOENT)',
        '/etc/tessera/state.yaml:10:15: tenants[0].applications[0].secrets[0].fromEnv: the variable NOT_SET is not set',
      ].join('\n'),
    );
  });

  it('are allowed only as a password or a secret', async () => {
    expect(await resolve(text)).toBe(text);
    const elsewhere = 'tenants:\n  - id: acme\n    fromEnv: SECRET\n';
    expect(await resolve(elsewhere)).toBe(elsewhere);
  });
});
