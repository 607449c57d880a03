import { execFile } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { startReceiver, type Received } from '@tessera/test-kit';
import { bareEnvironment, eventually } from '@tessera/test-kit/provision';
import { claimsOf, dialects, tokensOf } from '@tessera/test-client';
import { expectError } from '../../harness/flows.ts';
import { poll, startCiba } from '../../harness/out-of-band.ts';
import { people } from '../../harness/declared-state.ts';
import type { System } from '../../harness/set-up.ts';

export const webhookKey = 'e2e-webhook-key-0123456789-0123456789-abcd';

type Notification = Pick<Received, 'headers' | 'body'>;

const client = 'acme-alarm';
const root = fileURLToPath(new URL('../../../../../', import.meta.url));

/** CIBA with approval by a tenant's own notification system. */
export function webhookSuite(system: () => System): void {
  /** Runs `work` with a notification system that listens, and that the application is declared to have. */
  async function withReceiver(work: (received: readonly Notification[]) => Promise<void>): Promise<void> {
    const receiver = await startReceiver('/approvals');
    await system().apply({ webhookUrl: receiver.url });
    try {
      await work(receiver.received);
    } finally {
      await system().apply({});
      await receiver.close();
    }
  }

  async function verificationKey(): Promise<string> {
    const args = ['apps/cli/src/main.ts', 'webhook-key', '--tenant', 'acme', '--client-id', client];
    const env = { ...bareEnvironment(), TESSERA_WEBHOOK_KEY: webhookKey };
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root, env });
    return stdout.trim();
  }

  const decide = async (token: string, decision: string) =>
    system().http.ask('POST', `/backchannel_decision?token=${token}`, { json: { decision } });

  describe('approval by webhook', () => {
    it('announces signed, and takes one decision by the link that came along', async () => {
      const { http } = system();
      await withReceiver(async (received) => {
        const next = async (form: Readonly<Record<string, string>> = {}) => {
          const before = received.length;
          const authReqId = await startCiba(http, { client_id: client, scope: 'openid', ...form });
          await eventually('the announcement has come', async () => received.length > before);
          const { headers, body } = received.at(-1) ?? { headers: {}, body: '{}' };
          const { data = {} } = JSON.parse(body) as { data?: Record<string, string> };
          const link = new URL(data['decision_uri'] ?? '');
          expect(`${link.origin}${link.pathname}`).toBe(`${system().baseUrl}/backchannel_decision`);
          const token = link.searchParams.get('token') ?? '';
          http.seen.add(token);
          return { authReqId, headers, body, data, token };
        };

        const approved = await next({ binding_message: 'Door 3', login_hint: people.bob.username });
        expect(approved.data).toMatchObject({
          client_id: client,
          username: people.bob.username,
          binding_message: 'Door 3',
        });
        const secret = Buffer.from((await verificationKey()).replace('whsec_', ''), 'base64');
        const { headers, body } = approved;
        const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
        const expected = createHmac('sha256', secret).update(signed).digest('base64');
        expect(headers['webhook-signature']).toBe(`v1,${expected}`);

        expectError(await decide(`${approved.token.slice(0, -4)}AAAA`, 'approve'), 404, 'invalid_request');
        expectError(await decide(approved.authReqId, 'approve'), 404, 'invalid_request');
        expectError(await decide(approved.token, 'perhaps'), 400, 'invalid_request');
        expect((await http.ask('GET', `/backchannel_decision?token=${approved.token}`)).status).toBe(405);
        expectError(await poll(http, 'ciba', approved.authReqId, client), 400, 'authorization_pending');
        expect((await decide(approved.token, 'approve')).status).toBe(200);
        expectError(await decide(approved.token, 'deny'), 400, 'invalid_request');
        const tokens = tokensOf(await poll(http, 'ciba', approved.authReqId, client, dialects[1]));
        expect(claimsOf(tokens.idToken)).toMatchObject({ aud: client, sub: approved.data['sub'] });
        for (const name of ['sid', 'acr', 'amr']) expect(claimsOf(tokens.idToken)).not.toHaveProperty(name);
        expectError(await poll(http, 'ciba', approved.authReqId, client), 400, 'invalid_grant');

        const denied = await next({ login_hint: people.bob.email });
        expect((await decide(denied.token, 'deny')).status).toBe(200);
        expectError(await poll(http, 'ciba', denied.authReqId, client), 400, 'access_denied');
      });
    });
  });
}
