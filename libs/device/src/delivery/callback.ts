import { z } from 'zod';
import type { Message } from '@tessera/outbound';
import type { Encryption } from './encryption.ts';
import type { Delivery } from './delivery-store.ts';

/** The values a client sent and received when it started a request. */
const started = z.object({ authReqId: z.string(), notificationToken: z.string() });
export type StartedRequest = z.infer<typeof started>;

/** The tokens of a push, under the names of the token response (RFC 6749 §5.1, OIDC Core §3.1.3.3). */
const tokenResponse = z.object({
  access_token: z.string(),
  token_type: z.string(),
  expires_in: z.number(),
  scope: z.string(),
  refresh_token: z.string().optional(),
  /** Empty without `openid`; not sent then. Compatibility until 0.3: version 0.1 requires the member. */
  id_token: z.string(),
});
export type TokenResponse = z.infer<typeof tokenResponse>;

/** Encrypts the parts of a callback: those known at the start, and the tokens. */
export interface CallbackEncryption {
  encryptStart(requestId: string, content: StartedRequest): string;
  decryptStart(requestId: string, encrypted: string): StartedRequest | undefined;
  encryptTokens(deliveryId: string, tokens: TokenResponse): string;
  decryptTokens(deliveryId: string, encrypted: string): TokenResponse | undefined;
}

export function createCallbackEncryption(encryption: Encryption): CallbackEncryption {
  return {
    encryptStart: (requestId, content) => encryption.encrypt(`request ${requestId}`, content),
    decryptStart: (requestId, encrypted) =>
      started.safeParse(encryption.decrypt(`request ${requestId}`, encrypted)).data,
    encryptTokens: (deliveryId, tokens) => encryption.encrypt(`tokens ${deliveryId}`, tokens),
    decryptTokens: (deliveryId, encrypted) =>
      tokenResponse.safeParse(encryption.decrypt(`tokens ${deliveryId}`, encrypted)).data,
  };
}

/**
 * The request to a client's notification endpoint, without its address: CIBA Core §10.2 for a ping, §10.3.1 for pushed tokens,
 * §12 for a push without tokens. Undefined if its parts cannot be decrypted.
 */
export function callbackOf(
  delivery: Delivery,
  encryption: CallbackEncryption,
): Omit<Message, 'url'> | undefined {
  const { mode, outcome, sealedTokens, deliveryId } = delivery;
  const start = encryption.decryptStart(delivery.requestId, delivery.sealed);
  if (start === undefined) return undefined;
  const tokens = sealedTokens === undefined ? undefined : encryption.decryptTokens(deliveryId, sealedTokens);
  if (mode === 'push' && outcome === 'approved' && tokens === undefined) return undefined;
  const about = { auth_req_id: start.authReqId };
  const body =
    mode === 'ping'
      ? about
      : { ...about, ...(tokens === undefined ? failures[outcome] : withoutEmpty(tokens)) };
  return {
    headers: {
      'content-type': 'application/json',
      'user-agent': 'tessera',
      authorization: `Bearer ${start.notificationToken}`,
    },
    body: JSON.stringify(body),
  };
}

function withoutEmpty({ id_token: idToken, ...tokens }: TokenResponse): object {
  return idToken === '' ? tokens : { ...tokens, id_token: idToken };
}

/** CIBA Core §12. A failure that the client cannot fix is not explained to it. */
const failures: Readonly<Record<Delivery['outcome'], object>> = {
  approved: {},
  pending: {},
  denied: { error: 'access_denied', error_description: 'The request was denied.' },
  failed: { error: 'transaction_failed', error_description: 'The tokens could not be issued. Start again.' },
};
