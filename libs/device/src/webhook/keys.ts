import { createHmac, createSecretKey, timingSafeEqual, type KeyObject } from 'node:crypto';
import { type Secret } from '@tessera/kit';

/** What the one key of a deployment gives: a signing key for each application, proofs for decision links, and a seal. */
export interface WebhookKeys {
  /** The key that an application's notification system verifies with, as `whsec_` and base64 (Standard Webhooks). */
  signingKey(application: { readonly tenantId: string; readonly clientId: string }): string;
  /** The value of a decision link: names a request and proves that it was handed out for it. */
  decisionToken(requestId: string): string;
  /** The request of a decision link; undefined for what was never handed out. */
  requestOf(decisionToken: string): string | undefined;
  /** 32 bytes that seal what clients are to be told of decisions. */
  readonly sealingKey: Buffer;
}

const prefix = 'tw_';
const tokenShape = new RegExp(`^${prefix}([A-Za-z0-9_-]{22})\\.([A-Za-z0-9_-]{43})$`);

export function createWebhookKeys(secret: Secret): WebhookKeys {
  const key: KeyObject = createSecretKey(Buffer.from(secret.reveal(), 'utf8'));
  const mac = (purpose: string): Buffer => createHmac('sha256', key).update(purpose).digest();
  const proofOf = (requestId: string): string => mac(`decision\0${requestId}`).toString('base64url');
  return {
    sealingKey: mac('seal'),
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
