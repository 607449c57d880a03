import { createHmac } from 'node:crypto';
import type { Message } from '@tessera/outbound';
import type { DirectoryClient } from '@tessera/directory-client';
import { ulid } from '@tessera/kit';
import type { CallOptions } from '@tessera/rpc';
import type { Clock, Random } from '@tessera/kit';
import type { Application } from '@tessera/proto-gen/directory';
import type { ApprovalChannel } from '../approval/approval-channel.ts';
import type { Delivery, DeliveryStore } from '../store/delivery-store.ts';
import type { GrantStore, ActiveGrant } from '../store/grant-store.ts';
import type { WebhookKeys } from './webhook-keys.ts';

interface PromptDeps {
  readonly keys: WebhookKeys;
  readonly runtime: { readonly clock: Clock; readonly random: Random };
}

/** The approval channel `webhook`: a tenant's own notification system prompts the person. */
export function createWebhookExperience({
  keys,
  runtime,
  store,
  wake,
}: PromptDeps & {
  readonly store: Pick<DeliveryStore, 'addPrompt'>;
  /** Wakes the deliveries. */
  readonly wake: () => void;
}): ApprovalChannel {
  return {
    async announce({ request, userId, trail, remainingSeconds }) {
      const deliveryId = ulid(runtime.clock, runtime.random);
      await store.addPrompt({ deliveryId, request, userId: userId ?? '', trail, remainingSeconds });
      wake();
    },
    decidedBy: (decisionToken) => keys.requestOf(decisionToken),
  };
}

/** The message to a notification system or, as a string, the reason why none is sent. */
export type PromptMessage = (
  delivery: Delivery,
  application: Application,
  call: () => CallOptions,
) => Promise<Message | string>;

export function createPromptMessage({
  keys,
  runtime,
  grants,
  directory,
}: PromptDeps & {
  readonly grants: Pick<GrantStore, 'find'>;
  readonly directory: Pick<DirectoryClient, 'user' | 'isActive' | 'mayUse'>;
}): PromptMessage {
  return async (delivery, application, call) => {
    const { approval = '', url = '' } = application.ciba ?? {};
    if (approval !== 'webhook' || url === '') return 'no_webhook';
    const grant = await grants.find(delivery.requestId);
    if (grant === undefined) return 'request_over';
    const user = await directory.user(delivery.tenantId, delivery.userId, call());
    if (user === undefined || !directory.isActive(user)) return 'user_inactive';
    if (!directory.mayUse(application, user)) return 'role_missing';
    const { name } = application;
    return messageOf(
      { keys, runtime },
      { id: delivery.deliveryId, url, name, username: user.username },
      grant,
    );
  };
}

/** The request as in the Standard Webhooks specification. Every attempt has the same id and its own signature. */
function messageOf(
  { keys, runtime }: PromptDeps,
  about: { readonly id: string; readonly url: string; readonly name: string; readonly username: string },
  { request, owner, remainingSeconds }: ActiveGrant,
): Message {
  const now = Math.floor(runtime.clock.now() / 1000);
  const body = JSON.stringify({
    type: 'backchannel_authentication.requested',
    timestamp: new Date(now * 1000).toISOString(),
    data: {
      tenant_id: request.tenantId,
      client_id: request.clientId,
      application_name: about.name,
      sub: owner.userId,
      username: about.username,
      scope: request.scopes.join(' '),
      binding_message: request.bindingMessage,
      ip_address: request.ipAddress,
      expires_in: Math.floor(remainingSeconds),
      decision_uri: `${request.issuer}/backchannel_decision?token=${keys.decisionToken(request.requestId)}`,
    },
  });
  const signingKey = Buffer.from(keys.signingKey(request).slice('whsec_'.length), 'base64');
  const signature = createHmac('sha256', signingKey).update(`${about.id}.${now}.${body}`).digest('base64');
  return {
    url: about.url,
    body,
    headers: {
      'content-type': 'application/json',
      'user-agent': 'tessera',
      'webhook-id': about.id,
      'webhook-timestamp': String(now),
      'webhook-signature': `v1,${signature}`,
    },
  };
}
