import { create } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { DirectoryService } from '@tessera/proto-gen/directory';
import { KeysService, SignRequestSchema } from '@tessera/proto-gen/keys';
import type { BuiltService, Handlers } from '../call.ts';
import { route } from '../call.ts';
import { createLogger } from '@tessera/telemetry';
import type { Logger } from '@tessera/telemetry';

type KeysHandlers = Handlers<typeof KeysService>;
type DirectoryHandlers = Handlers<typeof DirectoryService>;

/** A service whose behaviour each test gives. `sign` writes, `getPublicKeys` reads, `watchChanges` streams. */
export interface Subject {
  sign: KeysHandlers['sign'];
  getPublicKeys: KeysHandlers['getPublicKeys'];
  watchChanges: DirectoryHandlers['watchChanges'];
  ready: () => Promise<void>;
  readonly built: BuiltService;
  readonly log: Logger;
  /** What the serving side logged: one parsed record per line. */
  readonly lines: Record<string, unknown>[];
}

const unimplemented = (): never => {
  throw new ConnectError('not part of the subject', Code.Unimplemented);
};

export function createSubject(): Subject {
  const lines: Record<string, unknown>[] = [];
  const log = createLogger(
    { service: 'subject', level: 'debug' },
    { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) },
  );
  const subject: Subject = {
    sign: unimplemented,
    getPublicKeys: unimplemented,
    watchChanges: unimplemented,
    ready: async () => {},
    log,
    lines,
    built: {
      name: 'keys',
      routes: [keysRoute(() => subject), directoryRoute(() => subject)],
      ready: () => subject.ready(),
      close: async () => {},
    },
  };
  return subject;
}

/** A request of a size. */
export function signRequest(payloadBytes = 3): ReturnType<typeof create<typeof SignRequestSchema>> {
  return create(SignRequestSchema, { items: [{ payload: new Uint8Array(payloadBytes).fill(7) }] });
}

function keysRoute(subject: () => Subject) {
  return route(KeysService, {
    sign: (request, context) => subject().sign(request, context),
    getPublicKeys: (request, context) => subject().getPublicKeys(request, context),
    rotateKeys: unimplemented,
    withdrawKey: unimplemented,
  });
}

function directoryRoute(subject: () => Subject) {
  return route(DirectoryService, {
    getApplication: unimplemented,
    verifyApplicationSecret: unimplemented,
    getTenant: unimplemented,
    getTenantLooks: unimplemented,
    listTenantIssuers: unimplemented,
    getUser: unimplemented,
    batchGetUsers: unimplemented,
    findUser: unimplemented,
    verifyPassword: unimplemented,
    replacePassword: unimplemented,
    proposeTotp: unimplemented,
    verifyProposedTotp: unimplemented,
    proposeRecoveryCodes: unimplemented,
    adoptProposal: unimplemented,
    enrolTotp: unimplemented,
    verifySecondFactor: unimplemented,
    replaceRecoveryCodes: unimplemented,
    proposePasskey: unimplemented,
    enrolPasskey: unimplemented,
    verifyPasskey: unimplemented,
    listProviders: unimplemented,
    getProvider: unimplemented,
    signInWithProvider: unimplemented,
    getPasswordLink: unimplemented,
    redeemPasswordLink: unimplemented,
    requestPasswordReset: unimplemented,
    requestRegistration: unimplemented,
    proposeEmail: unimplemented,
    getEmailLink: unimplemented,
    confirmEmail: unimplemented,
    watchChanges: (request, context) => subject().watchChanges(request, context),
  });
}
