import { z } from 'zod';
import type { Message } from '@tessera/outbound';
import type { Encryption } from './encryption.ts';
import type { Delivery } from '../store/delivery-store.ts';

/** The values a client sent and received when it started a request. */
const started = z.object({ authReqId: z.string(), notificationToken: z.string() });
export type StartedRequest = z.infer<typeof started>;

/** Encrypts what a ping needs, from the start of its request on. */
export interface CallbackEncryption {
  encryptStart(requestId: string, content: StartedRequest): string;
  decryptStart(requestId: string, encrypted: string): StartedRequest | undefined;
}

export function createCallbackEncryption(encryption: Encryption): CallbackEncryption {
  return {
    encryptStart: (requestId, content) => encryption.encrypt(`request ${requestId}`, content),
    decryptStart: (requestId, encrypted) =>
      started.safeParse(encryption.decrypt(`request ${requestId}`, encrypted)).data,
  };
}

/** The ping of a client (CIBA Core §10.2), without its address. Undefined if its parts cannot be decrypted. */
export function callbackOf(
  { requestId, sealed }: Pick<Delivery, 'requestId' | 'sealed'>,
  encryption: CallbackEncryption,
): Omit<Message, 'url'> | undefined {
  const start = encryption.decryptStart(requestId, sealed);
  if (start === undefined) return undefined;
  return {
    headers: {
      'content-type': 'application/json',
      'user-agent': 'tessera',
      authorization: `Bearer ${start.notificationToken}`,
    },
    body: JSON.stringify({ auth_req_id: start.authReqId }),
  };
}
