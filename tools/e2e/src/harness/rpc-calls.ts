import { fromBinary, fromJson, toBinary, toJson, type DescMethod, type JsonObject } from '@bufbuild/protobuf';
import { Client, credentials, Metadata, status, type ServiceError } from '@grpc/grpc-js';
import { ApprovalsService } from '@tessera/proto-gen/admin-approvals';
import { AuditService } from '@tessera/proto-gen/admin-audit';
import { ApplicationsService } from '@tessera/proto-gen/admin-applications';
import { DeclaredStateService } from '@tessera/proto-gen/admin-declared_state';
import { ConsentsService } from '@tessera/proto-gen/admin-consents';
import { GrantsService } from '@tessera/proto-gen/admin-grants';
import { KeysService as KeysAdministrationService } from '@tessera/proto-gen/admin-keys';
import { MailService } from '@tessera/proto-gen/admin-mail';
import { ResourcesService } from '@tessera/proto-gen/admin-resources';
import { RolesService } from '@tessera/proto-gen/admin-roles';
import { SessionsService } from '@tessera/proto-gen/admin-sessions';
import { TenantsService } from '@tessera/proto-gen/admin-tenants';
import { UsersService } from '@tessera/proto-gen/admin-users';
import { AccountService } from '@tessera/proto-gen/account';
import { AuthorizeService } from '@tessera/proto-gen/authorize';
import { BackchannelAuthenticationService, DeviceAuthorizationService } from '@tessera/proto-gen/device';
import { BootstrapService, DirectoryService } from '@tessera/proto-gen/directory';
import { KeysService } from '@tessera/proto-gen/keys';
import { PersonService } from '@tessera/proto-gen/person';
import { PlanService } from '@tessera/proto-gen/plan';
import { IntrospectionService, TokenService } from '@tessera/proto-gen/token';
import type { System } from './set-up.ts';

const services = {
  keys: [KeysService, KeysAdministrationService],
  directory: [
    DirectoryService,
    PersonService,
    BootstrapService,
    TenantsService,
    ResourcesService,
    RolesService,
    UsersService,
    ApplicationsService,
    MailService,
    DeclaredStateService,
    PlanService,
    // The others serve their own.
    AuditService,
  ],
  authorize: [AuthorizeService, AccountService, SessionsService, ConsentsService],
  device: [DeviceAuthorizationService, BackchannelAuthenticationService, ApprovalsService],
  token: [TokenService, IntrospectionService, GrantsService],
} as const;

/** A method, and the process that serves it. */
export interface ServedMethod {
  readonly process: string;
  readonly method: DescMethod;
}

/** Every method that processes call on one another. */
export const servedMethods: readonly ServedMethod[] = Object.entries(services).flatMap(([process, all]) =>
  all.flatMap((service) => service.methods.map((method) => ({ process, method }))),
);

/** Calls the services of a split system with its shared token, as any of its processes. */
export class RpcCalls {
  readonly #system: System;
  readonly #clients = new Map<string, Client>();

  constructor(system: System) {
    this.#system = system;
  }

  /**
   * One call with bytes; resolves with the code and the words of an error too. A stream has ended after its first
   * message, or soon.
   */
  send({ process, method }: ServedMethod, caller: string, message: Buffer): Promise<RawAnswer> {
    const metadata = new Metadata();
    metadata.set('authorization', `Bearer ${this.#system.environmentOf(process)['TESSERA_RPC_TOKEN']}`);
    metadata.set('x-tessera-caller', caller);
    const path = `/${method.parent.typeName}/${method.name}`;
    const same = (bytes: Buffer): Buffer => bytes;
    const client = this.#client(process);
    return new Promise((resolve) => {
      const answered = (error: ServiceError | null, body: Buffer = Buffer.alloc(0)): void =>
        resolve({ code: error?.code ?? status.OK, details: error?.details ?? '', body });
      if (method.methodKind !== 'server_streaming') {
        const options = { deadline: Date.now() + 10_000 };
        client.makeUnaryRequest(path, same, same, message, metadata, options, answered);
        return;
      }
      const options = { deadline: Date.now() + 300 };
      const stream = client.makeServerStreamRequest(path, same, same, message, metadata, options);
      stream.on('data', () => stream.cancel());
      stream.on('error', answered);
      stream.on('end', () => answered(null));
    });
  }

  /** As `send`, with messages as JSON. */
  async ask(served: ServedMethod, caller: string, request: JsonObject): Promise<RpcAnswer> {
    const { input, output } = served.method;
    const bytes = Buffer.from(toBinary(input, fromJson(input, request)));
    const { code, details, body } = await this.send(served, caller, bytes);
    return { code, details, message: toJson(output, fromBinary(output, body)) as JsonObject };
  }

  close(): void {
    for (const client of this.#clients.values()) client.close();
  }

  #client(process: string): Client {
    const known = this.#clients.get(process);
    if (known !== undefined) return known;
    const port = this.#system.environmentOf(process)['TESSERA_RPC_PORT'];
    const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure());
    this.#clients.set(process, client);
    return client;
  }
}

interface RawAnswer {
  readonly code: number;
  readonly details: string;
  readonly body: Buffer;
}

/** An answer: its code, the words of an error, and its message as JSON. */
export interface RpcAnswer extends Omit<RawAnswer, 'body'> {
  readonly message: JsonObject;
}
