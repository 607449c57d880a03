import { describe, expect, it } from 'vitest';
import { Secret } from '@tessera/kit';
import { testKit } from '@tessera/test-kit';
import type { Prompt } from '../approval-experience.ts';
import { createWebhookKeys } from './keys.ts';
import { createWebhookNotifier } from './notifier.ts';
import type { Send } from './send.ts';

const prompt: Prompt = {
  trail: { requestId: 'r', ipAddress: '203.0.113.7' },
  request: {
    kind: 'auth_req_id',
    hash: 'a'.repeat(64),
    requestId: 'A'.repeat(22),
    tenantId: 'acme',
    clientId: 'bank',
    scopes: ['openid'],
    resource: '',
    issuer: 'https://id.example',
    ipAddress: '203.0.113.7',
    bindingMessage: '',
  },
  application: { name: 'Bank', url: 'https://hook.example/' },
  userId: 'u1',
  username: 'ada',
  remainingSeconds: 300,
};

/** A notifier whose receiver never takes anything, what it sent, and how it ended. */
function failing({ delaysMs, remainingSeconds = 300 }: { delaysMs: number[]; remainingSeconds?: number }) {
  let attempts = 0;
  let over: (reason: string | undefined) => void = () => undefined;
  const reason = new Promise<string | undefined>((resolve) => (over = resolve));
  const send: Send = async () => {
    attempts += 1;
    return { outcome: 'failed', reason: 'econnrefused' };
  };
  const notifier = createWebhookNotifier({
    keys: createWebhookKeys(new Secret('a-webhook-key-of-at-least-32-characters')),
    send,
    audit: { notified: (_trail, _request, _subject, why) => over(why) },
    kit: testKit(),
    delaysMs,
  });
  notifier.notify({ ...prompt, remainingSeconds });
  return { notifier, reason, attempts: () => attempts };
}

describe('the webhook notifier', () => {
  it('tries a bounded number of times, then says why it gave up', async () => {
    const { reason, attempts } = failing({ delaysMs: [1, 1, 1] });
    expect(await reason).toBe('econnrefused');
    expect(attempts()).toBe(4);
  });

  it('does not try again once the request would be over', async () => {
    const { reason, attempts } = failing({ delaysMs: [2000], remainingSeconds: 1 });
    expect(await reason).toBe('econnrefused');
    expect(attempts()).toBe(1);
  });

  it('gives up at once when the process ends', async () => {
    const { notifier, reason, attempts } = failing({ delaysMs: [600_000] });
    await new Promise((done) => setTimeout(done, 10));
    await notifier.close();
    expect(await reason).toBe('econnrefused');
    expect(attempts()).toBeLessThanOrEqual(2);
  });
});
