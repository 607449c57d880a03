import { claimLists, claimNameProblem, claimTypes } from '@tessera/oauth';
import { z } from 'zod';
import { line } from '../fields/values.ts';
import { attributeName } from '../users/claims/attributes.ts';

const mostClaims = 20;

const claimName = z.string().superRefine((name, context) => {
  const message = claimNameProblem(name);
  if (message !== undefined) context.addIssue({ code: 'custom', message });
});

/** The names of the objects down to a claim. The first one is a claim of the token itself. */
const claimPath = z
  .array(z.string().regex(/^[\x21-\x7e]{1,128}$/, 'must be up to 128 characters of printable ASCII'))
  .min(2)
  .max(5)
  .superRefine(([name = ''], context) => {
    const message = claimNameProblem(name);
    if (message !== undefined) context.addIssue({ code: 'custom', message, path: [0] });
  });

/** Claims by name, each with its source and the places where it is set. */
export const claims = z
  .record(
    claimName,
    z.strictObject({
      attribute: attributeName.optional(),
      roles: z.literal(true).optional(),
      targets: z.array(z.enum(['idToken', 'accessToken', 'userinfo'])).min(1),
      path: claimPath.optional(),
      type: z.enum(claimTypes).optional(),
      list: z.enum(claimLists).optional(),
      rolePrefix: line(128).optional(),
    }),
  )
  .refine((mapped) => Object.keys(mapped).length <= mostClaims, `must be at most ${mostClaims}`)
  .default({});

export type Claims = z.infer<typeof claims>;

/** The claims of an application as messages have them. */
export function claimsSent(mapped: Claims) {
  return {
    claims: Object.entries(mapped).map(([name, mapping]) => ({
      ...placeOf(mapping),
      name,
      idToken: mapping.targets.includes('idToken'),
      accessToken: mapping.targets.includes('accessToken'),
      userinfo: mapping.targets.includes('userinfo'),
    })),
  };
}

/** Where a claim comes from and how it stands in tokens. */
function placeOf({ attribute, path, type, list, rolePrefix }: Claims[string]) {
  return {
    attribute: attribute ?? '',
    path: path ?? [],
    type: type ?? '',
    list: list ?? '',
    rolePrefix: rolePrefix ?? '',
  };
}
