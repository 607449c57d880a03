import { decodeJwt } from 'jose/jwt/decode';
import { z } from 'zod';

const requestObject = z.object({
  state: z.string().max(8192).optional(),
  response_mode: z.string().optional(),
});

/** The members of a request object (OIDC Core §6.1) that say where its refusal goes. They are not verified. */
export function membersOfRequestObject(object: string | undefined): z.infer<typeof requestObject> {
  if (object === undefined) return {};
  try {
    return requestObject.parse(decodeJwt(object));
  } catch {
    return {};
  }
}
