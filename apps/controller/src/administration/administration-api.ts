import { readFile } from 'node:fs/promises';
import {
  clientCredentials,
  createAdminClient,
  type AdminClient,
  type DiffDeclaredStateResponse,
} from '@tessera/admin-client';
import type { Kind } from '../objects.ts';
import { documentName } from './refused-by-api.ts';

/** The record of an object: whose it is, where, and how it is to be. */
export interface Declaration {
  readonly kind: Kind;
  readonly tenantId: string;
  readonly owner: string;
  /** Absent: there is to be none. */
  readonly record?: object;
}

/** The administration API, as far as objects need it. Calls reject with ConnectErrors. */
export interface Administration {
  /** What applying would change, and what that would end. */
  compare(declaration: Declaration): Promise<DiffDeclaredStateResponse>;
  /** Makes the record what is declared, if that still changes the same. */
  apply(declaration: Declaration, etag: string): Promise<void>;
  /** The issuer of a tenant. */
  issuerOf(tenantId: string): Promise<string>;
}

export interface AdministrationOptions {
  readonly baseUrl: string;
  readonly caFile?: string | undefined;
  readonly issuer: string;
  readonly tokenFile: string;
}

/** In the declared state, and in what the API says of it. */
const placeOf = {
  TesseraApplication: { list: 'applications', kind: 'application' },
  TesseraResource: { list: 'resources', kind: 'resource' },
} as const;

const declaredKinds = ['resource', 'role', 'provider', 'user', 'application'];

/**
 * What each kind takes, and no more: by a token for both, an application could get scopes of the API of another
 * namespace, whose owner the controller writes for, too.
 */
const scopes: Readonly<Record<Kind, string>> = {
  TesseraApplication: 'admin.applications.write admin.tenants.read',
  TesseraResource: 'admin.resources.write admin.tenants.read',
};

const timeoutMs = 30_000;

export function openAdministration(options: AdministrationOptions): Administration {
  const clients = {
    TesseraApplication: adminClient(options, scopes.TesseraApplication),
    TesseraResource: adminClient(options, scopes.TesseraResource),
  };
  return {
    async compare(declaration) {
      const { declaredState } = await clients[declaration.kind]();
      return declaredState.diff({ ...requestOf(declaration), impact: true });
    },

    async apply(declaration, etag) {
      const { declaredState } = await clients[declaration.kind]();
      await declaredState.apply({ ...requestOf(declaration), allowDelete: true, etag });
    },

    async issuerOf(tenantId) {
      const { tenants } = await clients.TesseraApplication();
      const { issuer } = await tenants.get({ tenantId });
      return issuer === '' ? options.issuer : issuer;
    },
  };
}

function requestOf({ kind, tenantId, owner, record }: Declaration) {
  const { list, kind: own } = placeOf[kind];
  const tenant = { id: tenantId, ...(record !== undefined && { [list]: [record] }) };
  return {
    tenantId,
    document: JSON.stringify({ owner, tenants: [tenant] }),
    owner,
    fileName: documentName,
    // The other object of that name has the same owner.
    keptKinds: declaredKinds.filter((name) => name !== own),
  };
}

/** A client that is made anew when the file of its authority changes. */
function adminClient({ baseUrl, caFile, issuer, tokenFile }: AdministrationOptions, scope: string) {
  const accessToken = clientCredentials({ tokenEndpoint: `${issuer}/token`, tokenFile, scope });
  let current: { readonly ca: string | undefined; readonly client: AdminClient } | undefined;
  return async (): Promise<AdminClient> => {
    const ca = caFile === undefined ? undefined : await readFile(caFile, 'utf8');
    if (current === undefined || current.ca !== ca) {
      const client = createAdminClient({ baseUrl, accessToken, timeoutMs, ...(ca !== undefined && { ca }) });
      current = { ca, client };
    }
    return current.client;
  };
}
