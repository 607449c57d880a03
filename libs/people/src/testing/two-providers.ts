import { SoftwareAuthenticator } from '@tessera/test-kit';
import type { Database } from '@tessera/stores';
import { randomBytes } from 'node:crypto';
import { call, startDirectory } from './start-directory.ts';

const rules = {
  clientId: 'tessera',
  clientSecret: 'a-secret-that-only-the-provider-knows',
  createsAccounts: true,
  linking: 'verified-email',
};
export const corp = { ...rules, name: 'corp', issuer: 'https://login.company.example' };
export const partner = { ...rules, name: 'partner', issuer: 'https://login.partner.example' };

let count = 0;

/** A tenant whose people come with providers that their operator declares, changes and removes. */
export function twoProviders(database: Database) {
  const directory = startDirectory(database);
  const { files, api, as, person } = directory;
  const tenantId = `two${(count += 1)}`;
  const authorize = as('authorize');
  const origin = { tenantId, ipAddress: '10.0.0.1' };
  return {
    ...directory,
    tenantId,
    authorize,
    async declare(providers: readonly object[], users: readonly object[] = []): Promise<void> {
      const document = JSON.stringify({ tenants: [{ id: tenantId, name: 'Acme', providers, users }] });
      const allowed = { allowDelete: true, allowAdministration: true };
      await files.apply({ document, fileName: 'state.yaml', takeOver: true, ...allowed }, call());
    },
    /** Signs in with what a provider calls a verified address. */
    async signIn(
      { name: provider, issuer }: typeof corp,
      subject: string,
      email: string,
      mapped: { readonly claims?: Record<string, string>; readonly knownClaims?: string[] } = {},
    ) {
      const proof = { ...origin, provider, issuer, subject, email, emailVerified: true };
      return authorize.signInWithProvider({ ...proof, ...mapped }, call());
    },
    record: async (userId: string) => api.users.get({ tenantId, userId }, call()),
    async update(user: { readonly userId: string; readonly [field: string]: unknown }, ...paths: string[]) {
      return api.users.update({ tenantId, user, ...(paths.length > 0 && { updateMask: { paths } }) }, call());
    },
    /** Gives somebody another way in, and takes the provider from them. */
    async leave(userId: string, provider: string): Promise<void> {
      const site = 'https://id.example';
      const ceremony = {
        rpId: 'id.example',
        origin: site,
        challenge: randomBytes(32).toString('base64url'),
      };
      const { options } = await authorize.proposePasskey({ tenantId, userId, ceremony }, call());
      const response = new SoftwareAuthenticator(site, true).create(options);
      await authorize.enrolPasskey({ tenantId, userId, ceremony, response }, call());
      await person.unlinkOwnProvider({ ...origin, userId, provider }, call());
    },
  };
}
