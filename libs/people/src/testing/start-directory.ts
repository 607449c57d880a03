import { createHash } from 'node:crypto';
import { loadConfig } from '@tessera/process';
import { local, rootCall, type CallerName, type Client, type DescService } from '@tessera/rpc';
import type { Database } from '@tessera/stores';
import { ApplicationsService } from '@tessera/proto-gen/admin-applications';
import { DeclaredStateService } from '@tessera/proto-gen/admin-declared_state';
import { MailService } from '@tessera/proto-gen/admin-mail';
import { ResourcesService } from '@tessera/proto-gen/admin-resources';
import { RolesService } from '@tessera/proto-gen/admin-roles';
import { TenantsService } from '@tessera/proto-gen/admin-tenants';
import { UsersService } from '@tessera/proto-gen/admin-users';
import { BootstrapService, DirectoryService } from '@tessera/proto-gen/directory';
import { PersonService } from '@tessera/proto-gen/person';
import { declaredFiles } from '@tessera/directory/testing';
import { silentLog, testRuntime } from '@tessera/test-kit';
import { onTestFinished } from 'vitest';
import { directoryProcessConfig } from '../config.ts';
import { buildDirectory, type DirectoryOptions } from '../wiring.ts';

export const call = () => rootCall('a-request', 60_000);

/** A directory process on a migrated database, until the test ends. `settings` are as in the environment. */
export function startDirectory(
  database: Database,
  settings: Readonly<Record<string, string>> = {},
  { failpoint, ...options }: DirectoryOptions & { readonly failpoint?: (name: string) => void } = {},
) {
  const pepper = createHash('sha256').update('p').digest('base64');
  const runtime = testRuntime({ database, log: silentLog(), ...(failpoint && { failpoint }) });
  const service = buildDirectory(
    loadConfig(directoryProcessConfig, { TESSERA_DIRECTORY_PEPPER: pepper, ...settings }),
    {},
    runtime,
    options,
  );
  onTestFinished(() => service.close());
  const operator = <S extends DescService>(of: S) => local(of, service, 'operator', runtime.log);
  return {
    close: () => service.close(),
    bootstrap: operator(BootstrapService),
    files: declaredFiles(operator(DeclaredStateService)),
    api: {
      tenants: operator(TenantsService),
      resources: operator(ResourcesService),
      roles: operator(RolesService),
      users: operator(UsersService),
      applications: operator(ApplicationsService),
      mail: operator(MailService),
    },
    as: (caller: CallerName) =>
      signedIn(DirectoryService, local(DirectoryService, service, caller, runtime.log)),
    person: signedIn(PersonService, local(PersonService, service, 'authorize', runtime.log)),
  };
}

type Send = (request: object, call: unknown) => unknown;

/** The client, whose requests are of a sign-in that nothing ended, unless they say another `authTime`. */
function signedIn<S extends DescService>(of: S, client: Client<S>): Client<S> {
  const sends = client as unknown as Readonly<Record<string, Send>>;
  const calls = of.methods.map(({ localName, input }): [string, Send | undefined] => {
    const send = sends[localName];
    if (send === undefined || !('authTime' in input.field)) return [localName, send];
    const authTime = () => BigInt(Math.floor(Date.now() / 1000) + 3600);
    return [localName, (request, options) => send({ authTime: authTime(), ...request }, options)];
  });
  return Object.fromEntries(calls) as unknown as Client<S>;
}
