import {
  GetProviderResponseSchema,
  type DirectoryService,
  type GetProviderResponse,
} from '@tessera/proto-gen/directory';
import { Code, ConnectError, type Handlers } from '@tessera/rpc';
import { emptyFields, type FieldsOf } from '@tessera/rpc/testing';

/** A provider of a tenant, as services read it, and what it is declared with besides. */
export interface FakeProvider extends FieldsOf<GetProviderResponse> {
  tenantId: string;
  domains: string[];
  createsAccounts: boolean;
}

type SignIn = Handlers<typeof DirectoryService>['signInWithProvider'];
/** What a caller says that a provider proved. */
export type Proof = Parameters<SignIn>[0];

/** The providers of the tenants of a directory in memory, and whose identities they have proved. */
export class FakeProviders {
  readonly all: FakeProvider[] = [];
  /** The ids of people by tenant, provider, issuer and subject. */
  readonly identities = new Map<string, string>();
  /** Everything that callers said was proved, in order. */
  readonly proofs: Proof[] = [];

  add(fields: Partial<FakeProvider> & Pick<FakeProvider, 'name' | 'issuer'>): void {
    this.all.push({
      ...emptyFields(GetProviderResponseSchema),
      tenantId: 'acme',
      preset: 'none',
      clientId: 'tessera',
      clientSecret: 'a secret of the provider',
      displayName: fields.name.toUpperCase(),
      scopes: ['openid', 'profile', 'email'],
      domains: [],
      createsAccounts: false,
      ...fields,
    });
  }

  bind(tenantId: string, provider: string, subject: string, userId: string): void {
    const issuer = this.all.find((one) => one.tenantId === tenantId && one.name === provider)?.issuer ?? '';
    this.identities.set(keyOf({ tenantId, provider, issuer, subject }), userId);
  }

  /** Names of the providers that a person has an identity at. */
  linkedTo(tenantId: string, userId: string): string[] {
    const keys = [...this.identities].filter(([, holder]) => holder === userId).map(([key]) => key);
    return keys
      .map((key) => JSON.parse(key) as [string, string])
      .filter(([tenant]) => tenant === tenantId)
      .map(([, provider]) => provider);
  }

  /** Binds an identity to a signed-in person; why not, if it is not theirs now. */
  link(userId: string, identity: Pick<Proof, 'tenantId' | 'provider' | 'issuer' | 'subject'>): string {
    const { tenantId, provider, issuer } = identity;
    const declared = this.all.find((one) => one.tenantId === tenantId && one.name === provider);
    if (declared?.issuer !== issuer) return 'provider';
    const holder = this.identities.get(keyOf(identity));
    if (holder === undefined && this.linkedTo(tenantId, userId).includes(provider)) return 'taken';
    if (holder !== undefined && holder !== userId) return 'taken';
    this.identities.set(keyOf(identity), userId);
    return '';
  }

  unlink(tenantId: string, userId: string, provider: string): void {
    for (const [key, holder] of this.identities) {
      const [tenant, name] = JSON.parse(key) as [string, string];
      if (holder === userId && tenant === tenantId && name === provider) this.identities.delete(key);
    }
  }

  list(tenantId: string): FakeProvider[] {
    return this.all.filter((one) => one.tenantId === tenantId);
  }

  get(tenantId: string, name: string): FakeProvider {
    const found = this.all.find((one) => one.tenantId === tenantId && one.name === name);
    if (found === undefined) throw new ConnectError('not found', Code.NotFound);
    return found;
  }

  /** The id of the person; or why nobody is signed in. `create` makes an account. */
  holder(proof: Proof, create: (userId: string) => void): { userId: string } | { refusal: string } {
    this.proofs.push(proof);
    const known = this.identities.get(keyOf(proof));
    if (known !== undefined) return { userId: known };
    const provider = this.all.find((one) => one.tenantId === proof.tenantId && one.name === proof.provider);
    if (provider?.issuer !== proof.issuer) return { refusal: 'provider' };
    if (!provider.createsAccounts) return { refusal: 'unknown' };
    const userId = `${proof.tenantId}-${proof.provider}-${proof.subject}`;
    create(userId);
    this.identities.set(keyOf(proof), userId);
    return { userId };
  }
}

function keyOf({
  tenantId,
  provider,
  issuer,
  subject,
}: Pick<Proof, 'tenantId' | 'provider' | 'issuer' | 'subject'>) {
  return JSON.stringify([tenantId, provider, issuer, subject]);
}
