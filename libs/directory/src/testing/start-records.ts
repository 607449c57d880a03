import { createHash } from 'node:crypto';
import type { Clock } from '@tessera/kit';
import { loadConfig } from '@tessera/process';
import { ApplicationsService } from '@tessera/proto-gen/admin-applications';
import { DeclaredStateService } from '@tessera/proto-gen/admin-declared_state';
import { ResourcesService } from '@tessera/proto-gen/admin-resources';
import { RolesService } from '@tessera/proto-gen/admin-roles';
import { TenantsService } from '@tessera/proto-gen/admin-tenants';
import { UsersService } from '@tessera/proto-gen/admin-users';
import { DirectoryService } from '@tessera/proto-gen/directory';
import { PlanService } from '@tessera/proto-gen/plan';
import {
  local,
  rootCall,
  route,
  routeWhenCalled,
  type BuiltService,
  type CallerName,
  type DescService,
  type Handlers,
} from '@tessera/rpc';
import type { Database } from '@tessera/stores';
import { silentLog, testRuntime } from '@tessera/test-kit';
import { onTestFinished } from 'vitest';
import { directoryConfig } from '../config.ts';
import { signInSource } from '../ground/hashing/sign-in-source.ts';
import { openDirectory } from '../wiring.ts';
import { declaredFiles } from './declared-files.ts';

export const call = () => rootCall('a-request', 60_000);

/** A room of people in which nobody gets mail, or has anything to sign in with. */
const nobody = {
  sendsMail: false,
  requireMail: () => undefined,
  announce: async () => undefined,
  forgetPeople: async () => undefined,
};

interface Given {
  readonly settings?: Readonly<Record<string, string>>;
  /** Called with every error that is logged. */
  readonly onError?: (line: string) => void;
  readonly clock?: Clock;
}

/** The services of a directory process with the calls of records alone, on a migrated database. */
export function buildRecords(database: Database, { settings = {}, onError, clock }: Given = {}) {
  const pepper = createHash('sha256').update('p').digest('base64');
  const config = loadConfig(directoryConfig, { TESSERA_DIRECTORY_PEPPER: pepper, ...settings });
  const log = Object.assign(silentLog(), onError && { error: (_: object, line: string) => onError(line) });
  const runtime = testRuntime({ database, log, ...(clock && { clock }) });
  const { calls, passwords, routes, ...room } = openDirectory(config, runtime, nobody);
  const service: BuiltService = {
    name: 'directory',
    routes: [
      route(DirectoryService, handlersOf(DirectoryService, calls.directory)),
      routeWhenCalled(UsersService, async () => handlersOf(UsersService, await calls.users())),
      ...routes,
    ],
    ready: () => room.ready(),
    close: () => room.close(),
  };
  return {
    service,
    runtime,
    /** Whose identifier and password these are. */
    async personWith(tenantId: string, identifier: string, password: string): Promise<string | undefined> {
      const found = await room.store.findUserByIdentifier(tenantId, identifier);
      const source = signInSource(tenantId, identifier, '192.0.2.1');
      const matches = await passwords.verify(password, found?.user.passwordHash, { source });
      return matches ? found?.user.userId : undefined;
    },
  };
}

/** Of a service whose other calls, those of people, fail. */
function handlersOf<S extends DescService>(service: S, calls: Partial<Handlers<S>>): Handlers<S> {
  const others = service.methods.map(({ localName }) => [
    localName,
    () => {
      throw new Error(`${localName} is a call of people.`);
    },
  ]);
  return { ...Object.fromEntries(others), ...calls } as Handlers<S>;
}

/** As `buildRecords`, with its clients, until the test ends. */
export function startRecords(database: Database, given: Given = {}) {
  const { service, runtime, personWith } = buildRecords(database, given);
  onTestFinished(() => service.close());
  const operator = <S extends DescService>(of: S) => local(of, service, 'operator', runtime.log);
  const declaredState = operator(DeclaredStateService);
  return {
    personWith,
    close: () => service.close(),
    files: declaredFiles(declaredState),
    api: {
      tenants: operator(TenantsService),
      resources: operator(ResourcesService),
      roles: operator(RolesService),
      users: operator(UsersService),
      applications: operator(ApplicationsService),
      declaredState,
    },
    plans: local(PlanService, service, 'admin', runtime.log),
    as: (caller: CallerName) => local(DirectoryService, service, caller, runtime.log),
  };
}
