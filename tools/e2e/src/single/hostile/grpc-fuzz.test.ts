import type { DescMethod } from '@bufbuild/protobuf';
import { Client, credentials, Metadata, status, type ServiceError } from '@grpc/grpc-js';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AuthorizeService } from '@tessera/proto-gen/authorize';
import { BackchannelAuthenticationService, DeviceAuthorizationService } from '@tessera/proto-gen/device';
import { ApplicationsService } from '@tessera/proto-gen/admin-applications';
import { ResourcesService } from '@tessera/proto-gen/admin-resources';
import { RolesService } from '@tessera/proto-gen/admin-roles';
import { TenantsService } from '@tessera/proto-gen/admin-tenants';
import { UsersService } from '@tessera/proto-gen/admin-users';
import { DirectoryAdminService, DirectoryService } from '@tessera/proto-gen/directory';
import { KeysService } from '@tessera/proto-gen/keys';
import { IntrospectionService, TokenService } from '@tessera/proto-gen/token';
import { newDatabaseUrl, redisUrl } from '@tessera/test-kit';
import { people, secrets } from '../../harness/declared-state.ts';
import { leaks } from '@tessera/test-client';
import { setUps, type System } from '../../harness/set-up.ts';
import { startSystem } from '../../harness/start.ts';
import { fuzz, insideOf } from './fuzz.ts';
import { encodedMessages } from './messages.ts';
import { knownValues, takeValues } from './templates.ts';

const services = {
  keys: [KeysService],
  directory: [
    DirectoryService,
    DirectoryAdminService,
    TenantsService,
    ResourcesService,
    RolesService,
    UsersService,
    ApplicationsService,
  ],
  authorize: [AuthorizeService],
  device: [DeviceAuthorizationService, BackchannelAuthenticationService],
  token: [TokenService, IntrospectionService],
} as const;

const callers = ['gateway', 'token', 'device', 'authorize', 'cli'];

/** Of a server that failed: what HTTP calls a 500. */
const failures: readonly number[] = [status.UNKNOWN, status.INTERNAL, status.DATA_LOSS];

interface Call {
  readonly process: string;
  readonly method: DescMethod;
  readonly caller: string;
  readonly message: Buffer;
}

describe('malformed gRPC messages', () => {
  let system: System;
  const clients = new Map<string, Client>();

  beforeAll(async () => {
    const stores = { databaseUrl: await newDatabaseUrl(), redisUrl: redisUrl() };
    system = await startSystem(setUps.split, { stores });
    for (const name of Object.keys(services)) {
      const port = system.environmentOf(name)['TESSERA_RPC_PORT'];
      clients.set(name, new Client(`127.0.0.1:${port}`, credentials.createInsecure()));
    }
  });
  afterAll(async () => {
    for (const client of clients.values()) client.close();
    await system?.stop();
  });

  /** One call, for at most a while: streams and long polls have no end. */
  function send({ process, method, caller, message }: Call): Promise<{ code: number; text: string }> {
    const metadata = new Metadata();
    metadata.set('authorization', `Bearer ${system.environmentOf(process)['TESSERA_RPC_TOKEN']}`);
    metadata.set('x-tessera-caller', caller);
    const client = clients.get(process);
    if (client === undefined) throw new Error(`no client of ${process}`);
    const path = `/${method.parent.typeName}/${method.name}`;
    const same = (bytes: Buffer): Buffer => bytes;
    const isStream = method.methodKind === 'server_streaming';
    return new Promise((resolve) => {
      const answered = (error: ServiceError | null, body = '') =>
        resolve({ code: error?.code ?? status.OK, text: error?.details ?? body });
      if (!isStream) {
        const options = { deadline: Date.now() + 10_000 };
        client.makeUnaryRequest(path, same, same, message, metadata, options, (error, bytes) =>
          answered(error, bytes?.toString('latin1')),
        );
        return;
      }
      const deadline = Date.now() + 300;
      const stream = client.makeServerStreamRequest(path, same, same, message, metadata, { deadline });
      stream.on('data', () => stream.cancel());
      stream.on('error', answered);
      stream.on('end', () => answered(null));
    });
  }

  const calls = (known: readonly string[]): fc.Arbitrary<Call> => {
    const methods = Object.entries(services).flatMap(([process, all]) =>
      all.flatMap((service) => service.methods.map((method) => ({ process, method }))),
    );
    return fc
      .constantFrom(...methods)
      .chain(({ process, method }) =>
        fc
          .tuple(fc.constantFrom(...callers), encodedMessages(method.input, known))
          .map(([caller, message]) => ({ process, method, caller, message })),
      );
  };

  it('get an answer, never an internal error, and nothing of the inside', async () => {
    const known = knownValues(await takeValues(system));
    const forOurEyes = [...Object.values(secrets), ...Object.values(people).map(({ password }) => password)];
    await fuzz(calls(known), 1_000, async (call) => {
      const { code, text } = await send(call);
      expect(
        failures,
        `${call.method.name} of ${call.process}, called by ${call.caller}: ${code}`,
      ).not.toContain(code);
      expect(insideOf(text, forOurEyes)).toBeUndefined();
    });
    for (const process of system.processes) expect(process.running).toBe(true);
  });

  it('leave no error and no secret in the log', () => {
    const output = system.output();
    const errors = output.split('\n').filter((line) => /"level":"(?:error|fatal)"/.test(line));
    expect(errors.slice(0, 3)).toEqual([]);
    expect(leaks(output, system.http.seen)).toEqual([]);
  });
});
