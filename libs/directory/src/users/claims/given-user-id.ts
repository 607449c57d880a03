import { builtInPrefix, isGivenUserId, userIdPrefix } from '@tessera/oauth';
import { z } from 'zod';

/**
 * The identifier that a person is given, as the subject of their tokens (OIDC Core §2: at most 255 ASCII characters).
 * Without spaces, which separate identifiers in page tokens.
 */
export const givenUserId = z
  .string()
  .max(255)
  .regex(/^[\x21-\x7e]+$/, 'must consist of visible ASCII characters')
  .refine(isGivenUserId, `must not begin with ${userIdPrefix}, as the identifiers that are made here`)
  .refine((id) => !id.startsWith(builtInPrefix), `must not begin with ${builtInPrefix}, which is built in`);

/** At the shared issuer a subject must be the only one of all tenants. */
export const needsOwnIssuer = 'needs a tenant with an issuer of its own';

/** The message for a tenant that would come to the shared issuer with such people. */
export const keepsOwnIssuer =
  'cannot be given up: the tenant has people with a `userId` of their own, which is unique at its own issuer alone';

/** The message for another identifier than the person has. */
export const neverChanges = 'is another one than the person has, who keeps it';

/** The message for an identifier that somebody of the tenant has or had. */
export const wasGiven = 'is or was the identifier of another person of the tenant';

/** The message for an identifier of an application, whose own tokens have it as their subject. */
export const isClientId = 'is or was the client id of an application of the tenant';

/** The message for a client ID that a person was given as their identifier. */
export const isUserId = 'is or was the `userId` of a person of the tenant';
