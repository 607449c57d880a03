import { createSecretKey, type KeyObject } from 'node:crypto';
import {
  allowPrivateSetting,
  choice,
  consoleSecretSetting,
  consoleUrlSetting,
  flag,
  integer,
  issuerSetting,
  list,
  operatorTenantSetting,
  secret,
} from '@tessera/process/settings';
import { authenticationPolicies, weakestPolicy } from '@tessera/oauth';
import { z } from 'zod';

const pepperBytes = 32;

export const directoryConfig = z
  .object({
    /** The shared issuer, which no tenant may declare as its own. */
    TESSERA_ISSUER: issuerSetting,
    /** Where the first administrator is made. */
    TESSERA_OPERATOR_TENANT: operatorTenantSetting,
    /** What logins of the command line need: that of the tenant alone, more, or `off`: there are none. */
    TESSERA_CLI_LOGIN: choice([...authenticationPolicies, 'off'], weakestPolicy),
    /** The console's address, to which its sign-ins lead, and its secret. */
    TESSERA_CONSOLE_URL: consoleUrlSetting,
    TESSERA_CONSOLE_SECRET: consoleSecretSetting,
    /**
     * `https://kubernetes.default.svc.cluster.local=system:serviceaccount:id:tessera-admin`: issuer and subject of the
     * tokens that prove to be the console, in place of the secret. Their audience is the shared issuer.
     */
    TESSERA_CONSOLE_IDENTITY: z
      .string()
      .refine((value) => parseConsoleIdentity(value) !== undefined, {
        error:
          'expected an issuer and a subject, such as https://kubernetes.default.svc=system:serviceaccount:id:console',
      })
      .optional(),
    /** What sign-ins at the console need: what the tenant asks alone, or more. */
    TESSERA_CONSOLE_LOGIN: choice(authenticationPolicies, weakestPolicy),
    /** 32 bytes in base64 or base64url: the key of the digests of client secrets. */
    TESSERA_DIRECTORY_PEPPER: secret().refine((pepper) => decodePepper(pepper.reveal()) !== undefined, {
      error: `expected ${pepperBytes} bytes in base64`,
    }),
    /** In characters, of passwords that are declared; imported hashes are accepted as they are. */
    TESSERA_PASSWORD_MIN_LENGTH: integer(8, { min: 1, max: 128 }),
    /**
     * `spiffe://prod.example=https://spire.internal/bundle,https://ci.example=/etc/keys/ci.json`: where the keys of
     * issuers are that applications trust: a JWK Set at an address, which may be private, or in a file; of a trust
     * domain its SPIFFE bundle. Other issuers are asked where their keys are.
     */
    TESSERA_TRUSTED_ISSUER_KEYS: list().refine((entries) => parseIssuerKeys(entries) !== undefined, {
      error: 'expected entries such as https://ci.example=/etc/keys/ci.json, each issuer once',
    }),
    /** `https://kubernetes.default.svc`: the API server whose service accounts applications may trust. Absent: none. */
    TESSERA_KUBERNETES_API: z
      .string()
      .regex(/^https?:\/\/[^/?#]+$/, 'expected an origin such as https://kubernetes.default.svc')
      .optional(),
    /** The folder with `token` and `ca.crt` to ask it with. */
    TESSERA_KUBERNETES_CREDENTIALS: z.string().default('/var/run/secrets/kubernetes.io/serviceaccount'),
    /** Whether that API server is asked for each of these tokens if it still counts, once a minute. */
    TESSERA_KUBERNETES_TOKEN_REVIEW: flag(false),
    TESSERA_ALLOW_PRIVATE: allowPrivateSetting,
    /** Size of Node's thread pool, which bounds the hashes too. */
    UV_THREADPOOL_SIZE: integer(4, { min: 1, max: 1024 }),
  })
  .refine(
    ({ TESSERA_CONSOLE_URL: url, TESSERA_CONSOLE_SECRET: secret, TESSERA_CONSOLE_IDENTITY: identity }) =>
      url === undefined || (secret ?? identity) !== undefined,
    {
      error: 'is required with TESSERA_CONSOLE_URL, or TESSERA_CONSOLE_IDENTITY',
      path: ['TESSERA_CONSOLE_SECRET'],
    },
  )
  .refine(
    ({ TESSERA_KUBERNETES_TOKEN_REVIEW: isReviewed, TESSERA_KUBERNETES_API: api }) =>
      !isReviewed || api !== undefined,
    {
      error: 'is required with TESSERA_KUBERNETES_TOKEN_REVIEW: that API server is asked',
      path: ['TESSERA_KUBERNETES_API'],
    },
  );

export type DirectoryConfig = z.infer<typeof directoryConfig>;

/** What compact makes at its first start if the setting is absent: the name of its file, and the setting's form. */
export const directorySecret = {
  key: 'TESSERA_DIRECTORY_PEPPER',
  name: 'directory-pepper',
  setting: (value: string) => value,
};

/** By issuer: a file, or an address. Undefined if an entry is none. */
export function parseIssuerKeys(
  entries: readonly string[],
): ReadonlyMap<string, { readonly file: string } | { readonly address: string }> | undefined {
  const sources = new Map<string, { readonly file: string } | { readonly address: string }>();
  for (const entry of entries) {
    const [, issuer = '', source = ''] =
      /^((?:https?|spiffe):\/\/[^=]+)=(\/.+|https?:\/\/.+)$/.exec(entry) ?? [];
    if (issuer === '' || sources.has(issuer)) return undefined;
    sources.set(issuer, source.startsWith('/') ? { file: source } : { address: source });
  }
  return sources;
}

/** Whose tokens prove to be the console; undefined if the text does not say it. */
export function parseConsoleIdentity(
  text: string,
): { readonly issuer: string; readonly subject: string } | undefined {
  const [, issuer, subject] = /^((?:https?|spiffe):\/\/[^=\s]+)=(\S+)$/.exec(text) ?? [];
  return issuer === undefined || subject === undefined ? undefined : { issuer, subject };
}

/** The bytes of the pepper; undefined when the text does not hold 32. */
export function decodePepper(text: string): Buffer | undefined {
  if (!/^[A-Za-z0-9+/_-]{43}=?$/.test(text)) return undefined;
  const bytes = Buffer.from(text, 'base64');
  return bytes.length === pepperBytes ? bytes : undefined;
}

/** The key of digests and of secrets at rest. */
export function pepperOf({
  TESSERA_DIRECTORY_PEPPER,
}: Pick<DirectoryConfig, 'TESSERA_DIRECTORY_PEPPER'>): KeyObject {
  const bytes = decodePepper(TESSERA_DIRECTORY_PEPPER.reveal());
  if (bytes === undefined) throw new Error('TESSERA_DIRECTORY_PEPPER does not hold 32 bytes.');
  return createSecretKey(bytes);
}

/**
 * How many passwords may be hashed at once, on a machine with that many cores: one thread stays free for signatures.
 */
export function hashConcurrency(
  { UV_THREADPOOL_SIZE }: Pick<DirectoryConfig, 'UV_THREADPOOL_SIZE'>,
  cores: number,
): number {
  return Math.max(1, Math.min(cores, UV_THREADPOOL_SIZE - 1));
}
