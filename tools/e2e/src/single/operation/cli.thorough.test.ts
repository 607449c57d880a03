import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bareEnvironment, eventually } from '@tessera/test-kit/provision';
import { claimsOf, decideCiba, decideDevice, tokensOf, type DecisionWord } from '@tessera/test-client';
import { people, secrets } from '../../harness/declared-state.ts';
import { authorizeQuery, codeFor, expectError, redeem, refresh } from '../../harness/flows.ts';
import { setUps, type System } from '../../harness/set-up.ts';
import { startSystem } from '../../harness/start.ts';

const root = fileURLToPath(new URL('../../../../../', import.meta.url));

/** The `tessera` command against a running deployment, as somebody at a terminal has it. */
describe('the tessera command', () => {
  let system: System;
  beforeAll(async () => {
    system = await startSystem(setUps['compact-embedded'], {
      environment: { TESSERA_DEVICE_POLL_INTERVAL: '1s' },
    });
  });
  afterAll(async () => system?.stop());

  function tessera(args: readonly string[], environment: Readonly<Record<string, string>>) {
    const child = spawn(process.execPath, ['apps/cli/src/main.ts', ...args], {
      cwd: root,
      env: { ...bareEnvironment(), TESSERA_ISSUER: system.baseUrl, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const printed = { out: '', said: '' };
    child.stdout.on('data', (chunk: Buffer) => (printed.out += chunk.toString('utf8')));
    child.stderr.on('data', (chunk: Buffer) => (printed.said += chunk.toString('utf8')));
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
    return { printed, ended };
  }

  async function device(decision: DecisionWord) {
    const { printed, ended } = tessera(['flow', 'device', '--scope', 'openid orders.read'], {
      TESSERA_CLIENT_ID: 'acme-tv',
    });
    const code = (): string | undefined => /Enter {2}(\S+)/.exec(printed.said)?.[1];
    await eventually('the code is shown', async () => code() !== undefined);
    await decideDevice(system.person(), code() ?? '', decision);
    return { printed, code: await ended };
  }

  async function ciba(decision: DecisionWord) {
    const message = `Terminal ${decision}`;
    const args = ['flow', 'ciba', '--login-hint', people.ada.email, '--binding-message', message];
    const { printed, ended } = tessera(args, {
      TESSERA_CLIENT_ID: 'acme-desk',
      TESSERA_CLIENT_SECRET: secrets.desk,
    });
    await eventually('the person is asked', async () => printed.said.includes('Waiting'));
    await decideCiba(system.person(), decision, message);
    return { printed, code: await ended };
  }

  it.each([
    ['device', device, 'acme-tv'],
    ['ciba', ciba, 'acme-desk'],
  ])('completes `flow %s` once the person has approved', async (_name, flow, clientId) => {
    const { printed, code } = await flow('approve');
    expect([code, printed.said.includes('Approved.')]).toEqual([0, true]);
    const answer = JSON.parse(printed.out) as Record<string, string>;
    expect(answer['token_type']).toBe('Bearer');
    expect(claimsOf(answer['id_token'])).toMatchObject({ aud: clientId, iss: system.baseUrl });
  });

  it.each([
    ['device', device],
    ['ciba', ciba],
  ])('ends `flow %s` with exit code 1 when the person has denied', async (_name, flow) => {
    const { printed, code } = await flow('deny');
    expect([code, printed.out]).toEqual([1, '']);
    expect(printed.said).toContain('access_denied');
  });

  it('brings a deleted person and a deleted application back, with the same `sub`, password and secret', async () => {
    const operate = async (line: string) => {
      const { TESSERA_DATA_DIR = '' } = system.environmentOf('standalone');
      const { printed, ended } = tessera(line.split(' '), { TESSERA_DATA_DIR });
      expect(await ended, printed.said).toBe(0);
    };
    const tokens = async () => tokensOf(await redeem(system.http, await codeFor(system.person())));
    const before = await tokens();
    await operate('user delete --tenant acme --username ada --take-over');
    await eventually('Ada cannot sign in', async () => {
      const answer = await system.person().authorize(authorizeQuery(), people.ada);
      return answer.header('location')?.includes('code=') !== true;
    });
    await operate('user restore --tenant acme --username ada');
    await operate('application delete --tenant acme --client-id acme-web --take-over');
    await operate('application restore --tenant acme --client-id acme-web');
    await eventually(
      'both are back',
      async () =>
        (await system.person().authorize(authorizeQuery(), people.ada))
          .header('location')
          ?.includes('code=') === true,
    );
    const after = await tokens();
    expect(claimsOf(after.idToken)['sub']).toBe(claimsOf(before.idToken)['sub']);
    expectError(await refresh(system.http, before.refreshToken), 400, 'invalid_grant');
  });
});
