import { claimNameProblem } from '@tessera/oauth';
import { z } from 'zod';
import { attributeName } from '../users/attributes.ts';

const mostClaims = 20;

const claimName = z.string().superRefine((name, context) => {
  const message = claimNameProblem(name);
  if (message !== undefined) context.addIssue({ code: 'custom', message });
});

/** Claims by name, each with its source and the places where it is set. */
export const claims = z
  .record(
    claimName,
    z.strictObject({
      attribute: attributeName.optional(),
      roles: z.literal(true).optional(),
      targets: z.array(z.enum(['idToken', 'accessToken', 'userinfo'])).min(1),
    }),
  )
  .refine((mapped) => Object.keys(mapped).length <= mostClaims, `must be at most ${mostClaims}`)
  .default({});

export type Claims = z.infer<typeof claims>;

/** The claims of an application as messages have them. */
export function claimsSent(mapped: Claims) {
  return {
    claims: Object.entries(mapped).map(([name, { attribute = '', targets }]) => ({
      name,
      attribute,
      idToken: targets.includes('idToken'),
      accessToken: targets.includes('accessToken'),
      userinfo: targets.includes('userinfo'),
    })),
  };
}
