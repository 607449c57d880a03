import type { PendingRequest } from '@tessera/proto-gen/device';
import { describeScope, findApplication } from '../described-application.ts';
import type { PageContext } from '../page-context.ts';

type DescribedScope = ReturnType<typeof describeScope>;

/** Beyond so many scopes of one API nobody reads the others. */
const mostListed = 5;

/** What a person reads about a request before deciding. */
export interface RequestDescription {
  readonly requestId: string;
  readonly clientId: string;
  readonly application: string;
  readonly bindingMessage: string;
  readonly scopes: readonly DescribedScope[];
  /** APIs of which so many scopes are asked for that they are listed below its name. */
  readonly apis: readonly { readonly name: string; readonly scopes: readonly DescribedScope[] }[];
  readonly ipAddress: string;
  /** Whether the request came from the person's own address; a phished request rarely does. */
  readonly sameAddress: boolean;
}

/** Describes a request with the words of the tenant's administrators. */
export async function describeRequest(
  context: PageContext,
  pending: PendingRequest,
): Promise<{ description: RequestDescription; tenantName: string }> {
  const { application, tenant } = await findApplication(context, pending.clientId);
  const declared = new Map(application?.scopes.map((scope) => [scope.name, scope]));
  const describe = (name: string) => {
    const { description = '', resourceName = '' } = declared.get(name) ?? {};
    return describeScope(
      name,
      description === '' && resourceName !== '' ? `use ${resourceName}` : description,
    );
  };
  const byApi = Map.groupBy(pending.scopes, (name) => declared.get(name)?.audience ?? '');
  const long = [...byApi].filter(([audience, names]) => audience !== '' && names.length > mostListed);
  const below = new Set(long.flatMap(([, names]) => names));
  const { requestId, clientId, applicationName, bindingMessage, ipAddress } = pending;
  const description = {
    requestId,
    clientId,
    application: applicationName,
    bindingMessage,
    scopes: pending.scopes.filter((name) => !below.has(name)).map(describe),
    apis: long.map(([audience, names]) => ({
      name: declared.get(names[0] ?? '')?.resourceName || audience,
      scopes: names.map(describe),
    })),
    ipAddress,
    sameAddress: ipAddress === context.request.incoming.ipAddress,
  };
  return { description, tenantName: tenant?.name ?? '' };
}
