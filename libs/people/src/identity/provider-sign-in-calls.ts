import type { DirectoryService } from '@tessera/proto-gen/directory';
import type { Handlers } from '@tessera/rpc';
import type { Database } from '@tessera/stores';
import { notFound } from '@tessera/directory/ground';
import { userMessage, type ProviderSecrets, readProviders } from '@tessera/directory/records';
import type { ProviderSignIn } from './provider-sign-in.ts';
import { mappedClaims } from './mapped-person.ts';

/** The calls of a sign-in with a provider. */
export function providerSignInCalls({
  database,
  providerSecrets,
  providerSignIn,
}: {
  readonly database: Database;
  readonly providerSecrets: ProviderSecrets;
  readonly providerSignIn: ProviderSignIn;
}): Pick<Handlers<typeof DirectoryService>, 'listProviders' | 'getProvider' | 'signInWithProvider'> {
  return {
    async listProviders({ tenantId }) {
      const providers = await readProviders(database, tenantId);
      return {
        providers: providers
          .toSorted((left, right) => (left.name < right.name ? -1 : 1))
          .map(({ name, displayName, domains }) => ({ name, displayName, domains: [...domains] })),
      };
    },

    async getProvider({ tenantId, name }) {
      const providers = await readProviders(database, tenantId);
      const found = providers.find((provider) => provider.name === name);
      if (found === undefined) throw notFound('The provider');
      const { preset, issuer, clientId, displayName, scopes, trustsFactors, signsOut } = found;
      const clientSecret = await providerSecrets.open(tenantId, found);
      const registered = { name, preset, issuer, clientId, clientSecret, displayName, scopes: [...scopes] };
      return { ...registered, trustsFactors, signsOut, mappedClaims: mappedClaims(found) };
    },

    async signInWithProvider({ claims, knownClaims, ...proof }, { requestId }) {
      const mapped = claims && { claims, knownClaims };
      const signedIn = await providerSignIn({ ...proof, mapped, requestId });
      if ('refusal' in signedIn) return { refusal: signedIn.refusal };
      return { user: userMessage(signedIn.found), signedInAtMs: BigInt(signedIn.signedInAt) };
    },
  };
}
