import { z } from 'zod';
import { columnsOf } from '../fields/columns.ts';
import { field, referenceOf, shapeOf, type RecordOf } from '../fields/field.ts';
import { statusSent } from '../fields/status.ts';
import { line } from '../fields/values.ts';
import { longestPassword, passwordHashProblem } from '../ground/hashing/phc.ts';
import { declaredIdentity, mostIdentities } from '../factors/declared-identity.ts';
import { declaredPasskey, mostPasskeys } from '../factors/declared-passkey.ts';
import { declaredTotp } from '../factors/declared-totp.ts';
import { attributes, attributesSent } from './claims/attributes.ts';
import { givenUserId } from './claims/given-user-id.ts';
import { standardClaims, type StandardClaims } from './claims/standard-claims.ts';

/**
 * The fields of a user, in the order of the reference and of the declared state that is written; empty texts are
 * unknown.
 */
export const userFields = {
  username: field({
    schema: line(128),
    stored: 'text',
    reference: 'text; with `email` and `phoneNumber` unique within the tenant, in any case',
  }),
  email: field({
    schema: line(254)
      .regex(/^[^@\s]+@[^@\s]+$/, 'must be an e-mail address')
      .default(''),
    stored: 'text',
    reference: 'an e-mail address',
  }),
  name: field({ schema: line(200).default(''), stored: 'text', reference: 'text' }),
  phoneNumber: field({
    schema: z
      .string()
      .regex(/^\+[1-9]\d{5,14}$/, 'must be a phone number such as +46701234567')
      .default(''),
    stored: 'text',
    reference: '`"+46701234567"`, in quotes',
  }),
  attributes: field({
    schema: attributes,
    stored: 'jsonb',
    sent: attributesSent,
    reference:
      'what applications map to claims: up to 50 names, each with a text or a list of texts, at most 4096 bytes together',
  }),
  roles: field({
    schema: z.array(z.string()).default([]),
    stored: {
      select: `ARRAY(SELECT r.role FROM directory.user_role r
                      WHERE r.tenant_id = u.tenant_id AND r.user_id = u.user_id ORDER BY r.position)`,
    },
    reference:
      'roles of the tenant, and `tessera.administrator`, `tessera.auditor`, `tessera.helpdesk`, in the order of the token',
  }),
  status: field({
    schema: z.enum(['active', 'disabled', 'locked']).optional(),
    initial: 'active',
    stored: 'text',
    sent: statusSent,
    reference: '`active`, `disabled`, `locked`',
  }),
};

const { username, ...furtherFields } = userFields;
const declaredKeys = {
  username,
  userId: {
    schema: givenUserId.optional(),
    reference:
      'the `sub` that applications know them by from elsewhere, for a tenant with an issuer of its own: at most 255 visible ASCII characters, ' +
      'for good theirs; they are found by it before their user name',
  },
  ...furtherFields,
  ...standardClaims,
  password: {
    schema: z.string().min(1).max(longestPassword).optional(),
    reference:
      'of `TESSERA_PASSWORD_MIN_LENGTH` (8) to 1024 characters, not among the 10,000 most common; in its place `passwordFromEnv` or ' +
      '`passwordFromFile`',
  },
  passwordHash: {
    schema: z
      .string()
      .superRefine((text, context) => {
        const message = passwordHashProblem(text);
        if (message !== undefined) context.addIssue({ code: 'custom', message });
      })
      .optional(),
    reference:
      'in place of a password: the PHC string of any password, by argon2id, argon2i or argon2d (at most 64 MiB, 4 passes or more over 64 MiB in all, 4 lanes), ' +
      '`pbkdf2-sha1`, `-sha256` or `-sha512` (1,000,000 iterations times blocks) or `scrypt` (N of 2^17, N × r × p of 2^20), or a bcrypt hash ' +
      '(cost 12); made anew, by argon2id, at the first sign-in',
  },
  totp: {
    schema: declaredTotp.optional(),
    reference:
      'an authenticator app that they have from elsewhere: `secret` in base32, and unless they are as here `algorithm` (`SHA256`, `SHA512`), `digits` (8) ' +
      'and `period` (15 to 120 seconds); given once, and to nobody who has enrolled one here',
  },
  passkeys: {
    schema: z.array(declaredPasskey).max(mostPasskeys).optional(),
    reference:
      'passkeys that they have from elsewhere: `credentialId`, `publicKey` (COSE) and `userHandle` in base64url, `rpId`, which is the host of the issuer, ' +
      'and if known `signCount` and `transports`; each given once, and an empty list takes those away that were given',
  },
  identities: {
    schema: z.array(declaredIdentity).max(mostIdentities).optional(),
    reference:
      'what they sign in with at providers of the tenant: `provider`, its name, `subject`, their `sub` there, and if known `issuer`, ' +
      "which must be the provider's; each bound once, if it is nobody else's, and an empty list takes those away that were bound",
  },
};

/** A user in the declared state. */
export const user = z.strictObject(shapeOf(declaredKeys));
export type DeclaredUser = z.infer<typeof user>;
export const userReference = referenceOf(declaredKeys);
/** What people bring to sign in with, which a file alone declares. */
export const ofFilesAlone: ReadonlySet<string> = new Set(['identities', 'passkeys', 'totp']);
/** What a user in the declared state may have. */
export const declaredUserKeys: readonly string[] = Object.keys(declaredKeys);

export interface UserRecord extends RecordOf<typeof userFields> {
  /** `usr_` and 22 characters of base64url, or what they were given. */
  readonly userId: string;
  /** Who changes the record. */
  readonly owner: string;
  /** Further standard claims, by the keys of the declared state. */
  readonly standardClaims: StandardClaims;
  /** PHC string; undefined for a person without a password. */
  readonly passwordHash: string | undefined;
  /** By which the authenticator app is known that was declared last; undefined without one. */
  readonly declaredTotp?: string | undefined;
  /** The credential IDs of all passkeys that were declared. */
  readonly declaredPasskeys?: readonly string[] | undefined;
  /** What was declared of them at providers, as `identityText` has it. */
  readonly declaredIdentities?: readonly string[] | undefined;
}

export const userColumns = columnsOf<UserRecord>(
  {
    userId: { stored: 'text' },
    owner: { stored: 'text' },
    ...userFields,
    standardClaims: { stored: 'jsonb' },
    passwordHash: { stored: 'text' },
    declaredTotp: { stored: 'text' },
    declaredPasskeys: { stored: 'jsonb' },
    declaredIdentities: { stored: 'jsonb' },
  },
  'userId',
  'u',
);
