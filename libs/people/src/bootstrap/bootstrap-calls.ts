import type { DirectoryAdminService } from '@tessera/proto-gen/directory';
import type { Handlers } from '@tessera/rpc';
import { linkMessage, type LinkCallsDeps } from '../links/link-calls.ts';
import { createFirstAdministrator, type FirstAdministratorDeps } from './first-administrator.ts';

/** The call that makes the first administrator. */
export function bootstrapCalls(
  deps: FirstAdministratorDeps & Pick<LinkCallsDeps, 'linkBase'>,
): Pick<Handlers<typeof DirectoryAdminService>, 'createFirstAdministrator'> {
  return {
    async createFirstAdministrator(person, context) {
      const { link, ...made } = await createFirstAdministrator(deps, person, context);
      return { ...made, ...(link && linkMessage(link, deps.linkBase)) };
    },
  };
}
