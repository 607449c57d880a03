import { duration, secret } from '@tessera/process';
import type { Secret } from '@tessera/kit';
import { z } from 'zod';
import { keyEncryptionKeyBytes } from './rings/key-wrapper.ts';

/** Settings of the keys service. Durations are in seconds. */
export const keysConfig = z
  .object({
    /**
     * Key-encryption key: 32 random bytes in base64. Anyone who has it and the database can decrypt the signing keys.
     */
    TESSERA_KEYS_KEK: secret().refine(isKeyEncryptionKey, { error: 'expected 32 bytes in base64' }),
    /** How long a key signs before the next one takes over. */
    TESSERA_KEYS_ROTATION_PERIOD: duration('30d', { min: '1s' }),
    /** How long a key is published before it signs: at least the JWKS `max-age` and the clock skew of verifiers. */
    TESSERA_KEYS_PUBLISH_AHEAD: duration('24h'),
    /** How often each process reloads the keys, and so how soon it follows a rotation by another process. */
    TESSERA_KEYS_RELOAD_INTERVAL: duration('5s', { min: '50ms', max: '1m' }),
  })
  .refine((config) => config.TESSERA_KEYS_PUBLISH_AHEAD < config.TESSERA_KEYS_ROTATION_PERIOD, {
    error:
      'TESSERA_KEYS_PUBLISH_AHEAD must be shorter than TESSERA_KEYS_ROTATION_PERIOD. Correct one of them.',
  });

export type KeysConfig = z.infer<typeof keysConfig>;

/**
 * How long a retired key stays published, in seconds: a week. At least twice the maximum lifetime of a token (a day),
 * as a process that cannot reload the keys continues to sign with its last one for half of this time.
 */
export const retentionSeconds = 7 * 24 * 3600;

/** What compact makes at its first start if the setting is absent: the name of its file, and the setting's form. */
export const keysSecret = {
  key: 'TESSERA_KEYS_KEK',
  name: 'keys-kek',
  setting: (value: string) => value,
};

function isKeyEncryptionKey(value: Secret): boolean {
  return keyEncryptionKeyBytes(value) !== undefined;
}
