import { randomBytes } from 'node:crypto';

/** Of everybody who has one. */
const password = 'slide-rule-1622-gus';

/** What a tenant and all that it declares are called. */
export type Names = ReturnType<typeof namesOf>;

/** @param baseUrl of the server, below which it has its issuer */
export function namesOf(id: string, baseUrl: string) {
  return {
    id,
    issuer: `${baseUrl}/t/${id}`,
    web: `${id}-web`,
    /** Of a third party: people are asked for their consent. */
    partner: `${id}-partner`,
    tv: `${id}-tv`,
    desk: `${id}-desk`,
    /** Of all clients that are confidential. */
    secret: `${id}-secret-${randomBytes(16).toString('hex')}`,
    username: `${id}.gus`,
    password,
    audience: `https://api.${id}.example`,
    provider: `${id}-provider`,
    providerIssuer: `https://provider.${id}.example`,
  };
}
