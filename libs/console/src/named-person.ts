import { DirectoryService } from '@tessera/proto-gen/directory';
import { Code, ConnectError } from '@tessera/rpc';
import { param, type Visit } from './console-visit.ts';

/**
 * The identifier of the person of this organization whom an administrator has named: by user name, email address,
 * phone number, or the identifier itself.
 */
export async function idOfNamed(visit: Visit, named: string): Promise<string> {
  if (named === '') return '';
  const request = { tenantId: param(visit, 'tenant'), identifier: named };
  try {
    const { user } = await visit.api(DirectoryService).findUser(request, visit.call());
    return user?.userId ?? named;
  } catch (error) {
    if (error instanceof ConnectError && error.code === Code.NotFound) return named;
    throw error;
  }
}
