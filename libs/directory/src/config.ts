import {
  choice,
  integer,
  issuerSetting,
  messagesDirSetting,
  operatorTenantSetting,
  secret,
  secretIn,
} from '@tessera/process';
import { authenticationPolicies, weakestPolicy } from '@tessera/oauth';
import { z } from 'zod';
import { smtpUrlProblem } from './mail/smtp.ts';

const pepperBytes = 32;

export const directoryConfig = z
  .object({
    /** The shared issuer, which no tenant may declare as its own. */
    TESSERA_ISSUER: issuerSetting,
    /** Where the first administrator is made. */
    TESSERA_OPERATOR_TENANT: operatorTenantSetting,
    /** What logins of the command line need: that of the tenant alone, more, or `off`: there are none. */
    TESSERA_CLI_LOGIN: choice([...authenticationPolicies, 'off'], weakestPolicy),
    /** 32 bytes in base64 or base64url: the key of the digests of client secrets. */
    TESSERA_DIRECTORY_PEPPER: secret().refine((pepper) => decodePepper(pepper.reveal()) !== undefined, {
      error: `expected ${pepperBytes} bytes in base64`,
    }),
    /** Passwords hashed at once; 0 is the number of cores. Never more than the thread pool less one. */
    TESSERA_DIRECTORY_HASH_CONCURRENCY: integer(0, { max: 1024 }),
    /** MiB that hashes dearer than ours take at once; ours take 19 each besides. The dearest that is accepted takes 128. */
    TESSERA_DIRECTORY_HASH_MEMORY: integer(128, { min: 128, max: 65_536 }),
    /** In characters, of passwords that are declared; imported hashes are accepted as they are. */
    TESSERA_PASSWORD_MIN_LENGTH: integer(8, { min: 1, max: 128 }),
    /** The server that takes mail: `smtps://user:password@host:465` or `smtp://host:587`; absent: no mail is sent. */
    TESSERA_SMTP_URL: secretIn((value) => {
      const problem = smtpUrlProblem(value);
      if (problem !== undefined) throw new Error(problem);
    }).optional(),
    /** Whether mail is sent over TLS alone, or also without it to a server that offers none. */
    TESSERA_SMTP_TLS: choice(['required', 'optional'], 'required'),
    /** PEM of the authority of the server's certificate. */
    TESSERA_SMTP_CA: z.string().optional(),
    /** Address that mail comes from. */
    TESSERA_MAIL_FROM: z
      .string()
      .regex(/^[^\s@<>(),:;"\\[\]]+@[^\s@<>(),:;"\\[\]]+$/, 'expected an address such as no-reply@id.example')
      .optional(),
    /** Mails that people may ask for, to one address in an hour. */
    TESSERA_MAILS_PER_RECIPIENT: integer(5, { min: 1 }),
    TESSERA_MESSAGES_DIR: messagesDirSetting,
    /** Size of Node's thread pool, which bounds the hashes too. */
    UV_THREADPOOL_SIZE: integer(4, { min: 1, max: 1024 }),
  })
  .refine((config) => config.TESSERA_SMTP_URL === undefined || config.TESSERA_MAIL_FROM !== undefined, {
    error: 'is required with TESSERA_SMTP_URL',
    path: ['TESSERA_MAIL_FROM'],
  })
  .refine((config) => config.TESSERA_SMTP_URL === undefined || config.TESSERA_ISSUER !== undefined, {
    error: 'is required with TESSERA_SMTP_URL: mail has links to it',
    path: ['TESSERA_ISSUER'],
  });

export type DirectoryConfig = z.infer<typeof directoryConfig>;

/** What compact makes at its first start if the setting is absent: the name of its file, and the setting's form. */
export const directorySecret = {
  key: 'TESSERA_DIRECTORY_PEPPER',
  name: 'directory-pepper',
  setting: (value: string) => value,
};

/** The bytes of the pepper; undefined when the text does not hold 32. */
export function decodePepper(text: string): Buffer | undefined {
  if (!/^[A-Za-z0-9+/_-]{43}=?$/.test(text)) return undefined;
  const bytes = Buffer.from(text, 'base64');
  return bytes.length === pepperBytes ? bytes : undefined;
}

/** How many passwords may be hashed at once, on a machine with that many cores. */
export function hashConcurrency(
  config: Pick<DirectoryConfig, 'TESSERA_DIRECTORY_HASH_CONCURRENCY' | 'UV_THREADPOOL_SIZE'>,
  cores: number,
): number {
  const wanted = config.TESSERA_DIRECTORY_HASH_CONCURRENCY || cores;
  return Math.max(1, Math.min(wanted, config.UV_THREADPOOL_SIZE - 1));
}
