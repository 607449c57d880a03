import { z } from 'zod';
import type { Message } from '../webhook/send.ts';
import type { Seal } from './encryption.ts';
import type { Delivery } from './store.ts';

/** What a client gave and got when it started a request. */
const started = z.object({ authReqId: z.string(), notificationToken: z.string() });
export type StartedRequest = z.infer<typeof started>;

/** The tokens of a push, under the names of the token response (RFC 6749 §5.1, OIDC Core §3.1.3.3). */
const tokenAnswer = z.object({
  access_token: z.string(),
  token_type: z.string(),
  expires_in: z.number(),
  scope: z.string(),
  refresh_token: z.string().optional(),
  id_token: z.string(),
});
export type TokenAnswer = z.infer<typeof tokenAnswer>;

/** What callbacks are made of, under seal. */
export interface CallbackSeal {
  sealStart(requestId: string, content: StartedRequest): string;
  openStart(requestId: string, sealed: string): StartedRequest | undefined;
  sealTokens(deliveryId: string, tokens: TokenAnswer): string;
  openTokens(deliveryId: string, sealed: string): TokenAnswer | undefined;
}

export function createCallbackSeal(seal: Seal): CallbackSeal {
  return {
    sealStart: (requestId, content) => seal.close(`request ${requestId}`, content),
    openStart: (requestId, sealed) => started.safeParse(seal.open(`request ${requestId}`, sealed)).data,
    sealTokens: (deliveryId, tokens) => seal.close(`tokens ${deliveryId}`, tokens),
    openTokens: (deliveryId, sealed) => tokenAnswer.safeParse(seal.open(`tokens ${deliveryId}`, sealed)).data,
  };
}

/**
 * The request to a client's notification endpoint, without its address: CIBA Core §10.2 for a ping, §10.3.1 for pushed tokens,
 * §12 for a push that brings none. Undefined when what it is made of cannot be opened.
 */
export function callbackOf(delivery: Delivery, seal: CallbackSeal): Omit<Message, 'url'> | undefined {
  const { mode, outcome, sealedTokens, deliveryId } = delivery;
  const start = seal.openStart(delivery.requestId, delivery.sealed);
  if (start === undefined) return undefined;
  const tokens = sealedTokens === undefined ? undefined : seal.openTokens(deliveryId, sealedTokens);
  if (mode === 'push' && outcome === 'approved' && tokens === undefined) return undefined;
  const about = { auth_req_id: start.authReqId };
  const body = mode === 'ping' ? about : { ...about, ...(tokens ?? failures[outcome]) };
  return {
    headers: {
      'content-type': 'application/json',
      'user-agent': 'tessera',
      authorization: `Bearer ${start.notificationToken}`,
    },
    body: JSON.stringify(body),
  };
}

/** CIBA Core §12. What cannot be helped by the client is not explained to it. */
const failures: Readonly<Record<Delivery['outcome'], object>> = {
  approved: {},
  pending: {},
  denied: { error: 'access_denied', error_description: 'The request was denied.' },
  failed: { error: 'transaction_failed', error_description: 'The tokens could not be issued. Start again.' },
};
