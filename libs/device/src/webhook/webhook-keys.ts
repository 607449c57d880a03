import { createHmac, createSecretKey, timingSafeEqual, type KeyObject } from 'node:crypto';
import { type Secret } from '@tessera/kit';

/**
 * Keys derived from the one webhook key: a signing key per application, decision links, and the encryption of
 * deliveries.
 */
export interface WebhookKeys {
  /**
   * The key with which an application's notification system verifies signatures, as `whsec_` and base64 (Standard
   * Webhooks).
   */
  signingKey(application: { readonly tenantId: string; readonly clientId: string }): string;
  /** The token of a decision link: it names a request and proves that it was issued for it. */
  decisionToken(requestId: string): string;
  /** The request of a decision link; undefined if the token was never issued. */
  requestOf(decisionToken: string): string | undefined;
  /** 32 bytes that encrypt deliveries to clients. */
  readonly encryptionKey: Buffer;
}

const prefix = 'tw_';
const tokenShape = new RegExp(`^${prefix}([A-Za-z0-9_-]{22})\\.([A-Za-z0-9_-]{43})$`);

export function createWebhookKeys(secret: Secret): WebhookKeys {
  const key: KeyObject = createSecretKey(Buffer.from(secret.reveal(), 'utf8'));
  const mac = (purpose: string): Buffer => createHmac('sha256', key).update(purpose).digest();
  const proofOf = (requestId: string): string => mac(`decision\0${requestId}`).toString('base64url');
  return {
    encryptionKey: mac('seal'),
    signingKey: ({ tenantId, clientId }) =>
      `whsec_${mac(`sign\0${tenantId}\0${clientId}`).toString('base64')}`,
    decisionToken: (requestId) => `${prefix}${requestId}.${proofOf(requestId)}`,
    requestOf(decisionToken) {
      const [, requestId = '', proof = ''] = tokenShape.exec(decisionToken) ?? [];
      // As text: base64url has several spellings of the same bytes.
      const given = Buffer.from(proof);
      const expected = Buffer.from(proofOf(requestId));
      return given.length === expected.length && timingSafeEqual(given, expected) ? requestId : undefined;
    },
  };
}
