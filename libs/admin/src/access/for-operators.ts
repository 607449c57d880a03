import { KeysService } from '@tessera/proto-gen/admin-keys';
import { TenantsService } from '@tessera/proto-gen/admin-tenants';
import { DirectoryService } from '@tessera/proto-gen/directory';
import { Code, ConnectError, type DescMethod, type DescService, type Principal } from '@tessera/rpc';

type PhrasesOf<S extends DescService> = { readonly [M in keyof S['method']]?: string };

/** What each method that is for no single tenant does, as people say it. */
const phrases: ReadonlyMap<string, Readonly<Record<string, string>>> = new Map<
  string,
  Readonly<Record<string, string>>
>([
  [
    TenantsService.typeName,
    {
      list: 'Listing organizations',
      create: 'Adding an organization',
      delete: 'Deleting an organization',
    } satisfies PhrasesOf<typeof TenantsService>,
  ],
  [
    KeysService.typeName,
    {
      list: 'Listing signing keys',
      rotate: 'Rotating signing keys',
      withdraw: 'Withdrawing a signing key',
    } satisfies PhrasesOf<typeof KeysService>,
  ],
  [
    DirectoryService.typeName,
    { getApplication: 'Finding an application without its tenant' } satisfies PhrasesOf<
      typeof DirectoryService
    >,
  ],
]);

/**
 * The check of who calls a method that is for no single tenant. Throws Error for a method without a phrase, and
 * ConnectError.
 */
export function requiringEveryTenant(method: DescMethod): (principal: Principal) => void {
  const phrase = phrases.get(method.parent.typeName)?.[method.localName];
  if (phrase === undefined)
    throw new Error(`${method.parent.typeName}/${method.name}: for-operators.ts does not say what it does`);
  return ({ everyTenant = false }) => {
    if (everyTenant) return;
    throw new ConnectError(
      `${phrase} is for operators: use an access token of the operator tenant (TESSERA_OPERATOR_TENANT).`,
      Code.PermissionDenied,
    );
  };
}
