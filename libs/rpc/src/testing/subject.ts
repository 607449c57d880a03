import { create } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import type { BuiltService, Handlers } from '../call.ts';
import { route } from '../call.ts';
import { createLogger } from '@tessera/telemetry';
import type { Logger } from '@tessera/telemetry';
import { WriteRequestSchema } from './trial/trial_pb.ts';
import { TrialService, TrialStreamService } from './trial/trial-services.ts';

type CallHandlers = Handlers<typeof TrialService>;
type StreamHandlers = Handlers<typeof TrialStreamService>;

/** A service whose behaviour each test gives. */
export interface Subject {
  write: CallHandlers['write'];
  read: CallHandlers['read'];
  watch: StreamHandlers['watch'];
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
    write: unimplemented,
    read: unimplemented,
    watch: unimplemented,
    ready: async () => {},
    log,
    lines,
    built: {
      name: 'keys',
      routes: [callsRoute(() => subject), streamsRoute(() => subject)],
      ready: () => subject.ready(),
      close: async () => {},
    },
  };
  return subject;
}

/** A request of a size. */
export function writeRequest(payloadBytes = 3): ReturnType<typeof create<typeof WriteRequestSchema>> {
  return create(WriteRequestSchema, { items: [{ payload: new Uint8Array(payloadBytes).fill(7) }] });
}

function callsRoute(subject: () => Subject) {
  return route(TrialService, {
    write: (request, context) => subject().write(request, context),
    read: (request, context) => subject().read(request, context),
    change: unimplemented,
  });
}

function streamsRoute(subject: () => Subject) {
  return route(TrialStreamService, {
    watch: (request, context) => subject().watch(request, context),
  });
}
