import { isSharedSubject, isTrustDomain, redirectUriProblem, trustDomainOf } from '@tessera/oauth';
import { z } from 'zod';
import { refuseRepeated, type Report } from '../fields/field-checks.ts';
import { lifetime, uri } from '../fields/values.ts';
import { publicKeyProblem } from './public-keys.ts';

/** The message for a trust that another application of the deployment has, perhaps of another tenant. */
export const trustTaken = 'is trusted by another application already; a token proves to be one of them';

/** The messages for a trust about an issuer of ours: its own tokens, or its name written out. */
export const trustOfOurs =
  'names an issuer of ours: trust others, and leave out an audience that is our issuer';

const mostTrusts = 20;
const mostKeys = 10;

/** Of what is part of an index. */
function printable(max: number) {
  return z
    .string()
    .min(1)
    .max(max)
    .regex(/^[\x20-\x7e]*$/, 'must be printable ASCII')
    .refine((text) => text.trim() === text, 'must not begin or end with a space');
}

const issuer = printable(500).superRefine((value, context) => {
  const url = /^https?:/.test(value) && !/[?#]/.test(value);
  if (isTrustDomain(value) || (url && redirectUriProblem(value) === undefined)) return;
  const message = 'must be an https URL, or the trust domain of SPIFFE IDs such as spiffe://prod.example';
  context.addIssue({ code: 'custom', message });
});

/** The tokens of somebody else that prove to be the application. */
export const trusts = z
  .array(
    z.strictObject({
      issuer,
      subject: printable(1_000),
      audience: printable(500).or(z.literal('')).default(''),
      maxAge: lifetime('30d'),
      sharedIdentity: z.boolean().default(false),
    }),
  )
  .max(mostTrusts)
  .default([]);

export type Trust = z.infer<typeof trusts>[number];

/** Anything else within it would be stored, sent, and read by everybody who reads the application. */
const publicKey = z.record(z.string().max(64), z.unknown()).superRefine((key, context) => {
  const message = publicKeyProblem(key);
  if (message !== undefined) context.addIssue({ code: 'custom', message });
});

export const publicKeys = z.array(publicKey).max(mostKeys).default([]);

/** Where the keys of an application are. */
export const jwksUri = uri((value) =>
  /^https?:/.test(value) ? redirectUriProblem(value) : 'must be an https URL',
).default('');

interface Checked {
  readonly type: string;
  readonly grantTypes: readonly string[];
  readonly publicKeys: readonly unknown[];
  readonly jwksUri: string;
  readonly trusts: readonly Trust[];
}

/** What an application proves with who it is, besides secrets. */
export function checkTrusts(application: Checked, report: Report): void {
  const { type, grantTypes, publicKeys: keys, jwksUri: keysAt, trusts: declared } = application;
  if (type === 'public') {
    if (keys.length > 0) report(['publicKeys'], 'a public application cannot authenticate');
    if (keysAt !== '') report(['jwksUri'], 'a public application cannot authenticate');
    if (declared.length > 0) report(['trusts'], 'a public application cannot authenticate');
  }
  // RFC 7591 §2.
  if (keys.length > 0 && keysAt !== '') report(['jwksUri'], 'is in place of publicKeys');
  if (grantTypes.includes('jwt_bearer') && declared.length === 0)
    report(['grantTypes', grantTypes.indexOf('jwt_bearer')], 'needs trusts');
  refuseRepeated(declared.map(keyOfTrust), (index) => report(['trusts', index], 'is listed twice'));
  declared.forEach(({ issuer: of, subject, sharedIdentity }, index) => {
    const isShared = isSharedSubject(subject);
    if (isShared && !sharedIdentity)
      report(
        ['trusts', index, 'subject'],
        'is the identity of every pod of the namespace that names none; name a service account of its own, or declare sharedIdentity: true',
      );
    if (sharedIdentity && !isShared)
      report(['trusts', index, 'sharedIdentity'], 'is for the service account default of a namespace');
    if (isTrustDomain(of) && trustDomainOf(subject) !== of)
      report(['trusts', index, 'subject'], `must be a SPIFFE ID in the trust domain, such as ${of}/orders`);
  });
}

/** Whether an application can prove who it is without a secret. */
export function provesOtherwise({
  publicKeys: keys,
  jwksUri: keysAt,
  trusts: declared,
}: Pick<Checked, 'publicKeys' | 'jwksUri' | 'trusts'>): boolean {
  return keys.length > 0 || keysAt !== '' || declared.length > 0;
}

/** What no two applications of a deployment have both of. */
export function keyOfTrust({
  issuer: of,
  subject,
  audience,
}: Omit<Trust, 'maxAge' | 'sharedIdentity'>): string {
  return JSON.stringify([of, subject, audience]);
}
