import { defaultSigningAlgorithm, signingAlgorithmNames } from '@tessera/oauth';
import { z } from 'zod';
import { field } from '../fields/field.ts';
import { jwksUri, publicKeys, trusts } from './trusts.ts';

/** What an application proves with who it is, besides secrets, and how its ID tokens are signed. */
export const proofFields = {
  publicKeys: field({
    schema: publicKeys,
    stored: 'jsonb',
    // Only the check of assertions reads them; other services need not know them.
    sent: () => ({}),
    reference:
      'up to ten public keys (JWK) that the application signs its assertions with, in place of a secret ' +
      '(`private_key_jwt`); confidential applications only',
  }),
  jwksUri: field({
    schema: jwksUri,
    stored: 'text',
    sent: () => ({}),
    reference: 'https address of such keys (a JWK Set), in place of `publicKeys`',
  }),
  trusts: field({
    schema: trusts,
    stored: 'jsonb',
    sent: () => ({}),
    reference:
      'up to twenty `{issuer, subject}`: tokens of that issuer prove to be the application, in place of a secret ' +
      '([workload identity](../../docs/integrating.md#without-a-secret)). `audience?` (default: our issuer), `maxAge?` since they were issued, ' +
      '`sharedIdentity?: true` for the service account `default` of a namespace. Unique over all tenants',
  }),
  idTokenSigningAlgorithm: field({
    schema: z.enum(signingAlgorithmNames).default(defaultSigningAlgorithm),
    stored: 'text',
    reference: '`alg` of its ID tokens and logout tokens: `RS256` (default) or `ES256`',
  }),
};
