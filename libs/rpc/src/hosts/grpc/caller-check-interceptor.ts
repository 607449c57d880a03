import { Code, ConnectError } from '@connectrpc/connect';
import { ServerInterceptingCall } from '@grpc/grpc-js';
import type { Metadata, ServerInterceptingCallInterface, ServerInterceptor } from '@grpc/grpc-js';
import { createAdmission, type AdmissionDeps, type AdmittedCaller } from '../../access/admission.ts';
import type { Presented } from '../../access/authenticate-caller.ts';
import type { CallContext } from '../../call.ts';
import { toStatus } from '../../errors/error-status.ts';
import type { PublicError } from '../../errors/refusal.ts';

const callerSlot = 'tessera.caller';

/** The caller that passed the check. Handlers trust this alone, not what the call says about itself. */
export function checkedCaller(metadata: Metadata): Pick<CallContext, 'caller' | 'principal'> {
  const checked = metadata.getOpaque(callerSlot) as AdmittedCaller | undefined;
  if (checked?.caller === undefined) throw new Error('call without a caller');
  return { caller: checked.caller, principal: checked.principal };
}

/** Reads metadata as headers. */
export function headerIn(metadata: Metadata): Presented['header'] {
  return (name) => String(metadata.get(name)[0] ?? '');
}

/**
 * The caller check of a server as an interceptor, and the streams that passed it. It authenticates every call by its
 * metadata and certificate before a handler gets the message.
 */
export function createCallerCheck(deps: AdmissionDeps) {
  const admit = createAdmission(deps);
  const streams = new Set<ServerInterceptingCallInterface>();
  let ending = false;
  const interceptor: ServerInterceptor = ({ path, requestStream, responseStream }, call) =>
    new ServerInterceptingCall(call, {
      start: (next) =>
        next({
          onReceiveMetadata: (metadata, forward) => {
            if (requestStream || responseStream) streams.add(call);
            // grpc-js shows a certificate only if one of our authorities signed it.
            const certificate = () => call.getAuthContext().sslPeerCertificate;
            admit({ path, peer: call.getPeer(), header: headerIn(metadata), certificate }).then(
              (caller) => {
                if (ending && streams.has(call)) return call.sendStatus(shuttingDown);
                metadata.setOpaque(callerSlot, caller);
                forward(metadata);
              },
              (refusal: PublicError) => call.sendStatus(toStatus(refusal)),
            );
          },
          onCancel: () => void streams.delete(call),
        }),
    });
  /** Ends every stream, now and later: its consumer reconnects to another replica. */
  const endStreams = (): void => {
    ending = true;
    for (const call of streams) call.sendStatus(shuttingDown);
  };
  return { interceptor, endStreams };
}

const shuttingDown = toStatus(new ConnectError('the server is shutting down', Code.Unavailable));
