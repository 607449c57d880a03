import { createHmac } from 'node:crypto';
import type { Clock, Logger, Random } from '@tessera/kit';
import { ulid } from '@tessera/kit';
import type { DeviceAudit } from '../audit.ts';
import type { Notifier, Prompt } from '../approval-experience.ts';
import type { WebhookKeys } from './keys.ts';
import type { Message, Send, Sent } from './send.ts';

/** Tells tenants' own notification systems, which ask the person in their own way. */
export interface WebhookNotifier extends Notifier {
  /** Gives up what is still to be told. */
  close(): Promise<void>;
}

/** Before the second, third and fourth attempt. */
const retryDelaysMs = [1_000, 4_000, 15_000];
/** Notifications under way at a time; further ones are dropped, so that a slow receiver holds up nobody's memory. */
const mostAtOnce = 500;

interface WebhookParts {
  readonly keys: WebhookKeys;
  readonly send: Send;
  readonly audit: Pick<DeviceAudit, 'notified'>;
  readonly kit: { readonly clock: Clock; readonly random: Random; readonly log: Logger };
  readonly delaysMs?: readonly number[];
}

/**
 * The approval experience `webhook`: one signed request, tried again a bounded number of times while the backchannel request
 * lives and the receiver is in trouble.
 */
export function createWebhookNotifier(parts: WebhookParts): WebhookNotifier {
  const { keys, audit, kit } = parts;
  const closing = new AbortController();
  const underWay = new Set<Promise<void>>();

  async function tell(prompt: Prompt): Promise<void> {
    const sent = await deliver(prompt, parts, closing.signal);
    audit.notified(
      prompt.trail,
      prompt.request,
      prompt.userId,
      sent.outcome === 'delivered' ? undefined : sent.reason,
    );
  }

  return {
    notify(prompt) {
      if (closing.signal.aborted || underWay.size >= mostAtOnce) {
        audit.notified(prompt.trail, prompt.request, prompt.userId, 'too_many_under_way');
        return;
      }
      const telling = tell(prompt)
        .catch((error: unknown) => kit.log.error({ error }, 'a notification failed unexpectedly'))
        .finally(() => underWay.delete(telling));
      underWay.add(telling);
    },
    decidedBy: (decisionToken) => keys.requestOf(decisionToken),
    async close() {
      closing.abort();
      await Promise.all(underWay);
    },
  };
}

async function deliver(prompt: Prompt, parts: WebhookParts, signal: AbortSignal): Promise<Sent> {
  const { kit, send, delaysMs = retryDelaysMs } = parts;
  const end = kit.clock.now() + prompt.remainingSeconds * 1000;
  const id = ulid(kit.clock, kit.random);
  for (const delayMs of [...delaysMs, undefined]) {
    const sent = await send(messageOf(prompt, id, parts), signal);
    if (sent.outcome !== 'failed' || delayMs === undefined) return sent;
    if (signal.aborted || kit.clock.now() + delayMs >= end) return sent;
    await pause(delayMs, signal);
  }
  throw new Error('the last attempt has no delay');
}

/** Resolves after a while, or at once when `signal` is aborted. */
function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    signal.addEventListener('abort', done);
  });
}

/** The request in the form of the Standard Webhooks specification; every attempt has the same id and a signature of its own. */
function messageOf(prompt: Prompt, id: string, { keys, kit }: WebhookParts): Message {
  const { request, application } = prompt;
  const now = Math.floor(kit.clock.now() / 1000);
  const body = JSON.stringify({
    type: 'backchannel_authentication.requested',
    timestamp: new Date(now * 1000).toISOString(),
    data: {
      tenant_id: request.tenantId,
      client_id: request.clientId,
      application_name: application.name,
      sub: prompt.userId,
      username: prompt.username,
      scope: request.scopes.join(' '),
      binding_message: request.bindingMessage,
      ip_address: request.ipAddress,
      expires_in: Math.floor(prompt.remainingSeconds),
      decision_uri: `${request.issuer}/backchannel_decision?token=${keys.decisionToken(request.requestId)}`,
    },
  });
  const signingKey = Buffer.from(keys.signingKey(request).slice('whsec_'.length), 'base64');
  const signature = createHmac('sha256', signingKey).update(`${id}.${now}.${body}`).digest('base64');
  return {
    url: application.url,
    body,
    headers: {
      'content-type': 'application/json',
      'user-agent': 'tessera',
      'webhook-id': id,
      'webhook-timestamp': String(now),
      'webhook-signature': `v1,${signature}`,
    },
  };
}
