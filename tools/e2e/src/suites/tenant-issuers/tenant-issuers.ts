import { afterAll, beforeAll, describe } from 'vitest';
import type { SetUp, System } from '../../harness/set-up.ts';
import { tenantIssuersOf, tenants } from '../../harness/tenant-issuers.ts';
import { coldStartTests } from './cold-start.ts';
import { tenantIssuerBorders } from './tenant-issuer-borders.ts';
import { tenantIssuerDecisions } from './tenant-issuer-decisions.ts';
import { tenantIssuerLogins } from './tenant-issuer-logins.ts';
import { tenantSessionTokens } from './tenant-session-tokens.ts';
import { tenantIssuerSessions } from './tenant-issuer-sessions.ts';
import { tokensLikeKeycloaks } from './tokens-like-keycloaks.ts';

/** Tenants with issuers of their own, and others at the shared issuer. */
export function tenantIssuersSuite(system: () => System, topology: SetUp['topology']): void {
  describe('tenant issuers', () => {
    const on = tenantIssuersOf(system);
    beforeAll(on.open);
    afterAll(on.close);

    tenantIssuerLogins(system, on);
    tenantIssuerDecisions(system, on);
    tenantIssuerBorders(system, on);
    tenantIssuerSessions(on);
    tokensLikeKeycloaks(system);
    tenantSessionTokens(system, on);
    coldStartTests(system, topology, () => Promise.all(tenants.map(on.askedIssuer)));
  });
}
