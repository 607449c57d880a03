import type { BootstrapService } from '@tessera/proto-gen/directory';
import { Code, ConnectError, type CallOptions, type Client } from '@tessera/rpc';

/**
 * A link with which the first administrator sets a password, in place of an earlier one; undefined if there is an
 * administrator.
 */
export async function firstAdministratorLink(
  bootstrap: Client<typeof BootstrapService>,
  issuer: string,
  call: CallOptions,
): Promise<string | undefined> {
  try {
    const { uri } = await bootstrap.createFirstAdministrator({}, call);
    return new URL(uri, issuer).href;
  } catch (error) {
    if (error instanceof ConnectError && error.code === Code.FailedPrecondition) return undefined;
    throw error;
  }
}
