import type { BootstrapService } from '@tessera/proto-gen/directory';
import type { Handlers } from '@tessera/rpc';
import { linkMessage, type LinkCallsDeps } from '../links/link-calls.ts';
import { createFirstAdministrator, type FirstAdministratorDeps } from './first-administrator.ts';

/** The calls for who installs the system. */
export function bootstrapCalls(
  deps: FirstAdministratorDeps & Pick<LinkCallsDeps, 'linkBase'>,
): Handlers<typeof BootstrapService> {
  return {
    async createFirstAdministrator(person, context) {
      const { link, ...made } = await createFirstAdministrator(deps, person, context);
      return { ...made, ...(link && linkMessage(link, deps.linkBase)) };
    },
  };
}
