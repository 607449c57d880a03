import type { DescMethod } from '@bufbuild/protobuf';
import {
  createConnectRouter,
  createContextKey,
  createContextValues,
  type HandlerContext,
} from '@connectrpc/connect';
import {
  compressionGzip,
  universalRequestFromNodeRequest,
  universalResponseToNodeResponse,
} from '@connectrpc/connect-node';
import { within, withoutSchemas } from '@tessera/kit';
import { methodName } from '@tessera/telemetry';
import { fastify, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Logger } from 'pino';
import { createAdmission } from '../../access/admission.ts';
import { accessTo, accessToDescription, type Access } from '../../access/check-caller.ts';
import { nonceHeader, proofPath } from '../../token-proof.ts';
import type { BuiltService } from '../../call.ts';
import { warnOfTrust, type RpcServerCredentials } from '../../credentials.ts';
import type { PublicError } from '../../errors/refusal.ts';
import type { ServedCall } from '../../served-call.ts';
import { addReflection } from './connect-reflection.ts';
import { shuttingDown, toConnectError } from './connect-error.ts';
import { addRoute, admittedKey } from './connect-service.ts';
import { peerOf, type Peer, type PlacesOptions } from './connection-places.ts';
import { createListener } from './http-listener.ts';

export interface ConnectServeOptions {
  /** Address to listen on; a name is resolved once. */
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly credentials: RpcServerCredentials;
  /**
   * `optional`: under `mtls` connections without a certificate of ours are taken too, for calls with an access token.
   */
  readonly certificates?: 'required' | 'optional';
  readonly log: Logger;
  /** Largest message taken or sent, in bytes; 4 MiB by default. */
  readonly maxMessageBytes?: number;
  /** Bounds of connections; those of the listener by default. */
  readonly places?: Partial<PlacesOptions>;
  /** Until the body of a call has arrived that is one message, in milliseconds; 30 s by default. */
  readonly bodyMs?: number;
  /** Adds pages to the listener, in a scope of their own. */
  readonly pages?: ((scope: FastifyInstance) => Promise<void>) | undefined;
  /** How long `drain` waits for calls to end before it cuts them, in milliseconds; 10 s by default. */
  readonly drainMs?: number;
}

export interface ConnectServer {
  readonly host: string;
  readonly port: number;
  /** No new connections, calls end or are cut after `drainMs`. Does not close the service itself. */
  drain(): Promise<void>;
}

const requestKey = createContextKey<FastifyRequest | undefined>(undefined);

/**
 * Serves the routes of a service over Connect (JSON and binary), gRPC and gRPC-web on one port, for `curl`, `buf curl`
 * and browsers, together with server reflection, which is open to every authenticated caller. Methods are open to those
 * alone that their proto names.
 * @throws Error if a method names no caller, the address cannot be taken, the certificates are not usable, or the
 * credentials are `none`: any page in a browser on this machine could call
 */
export async function serveConnect(
  built: Pick<BuiltService, 'routes'>,
  options: ConnectServeOptions,
): Promise<ConnectServer> {
  const { log, credentials, port, certificates = 'required', drainMs = 10_000 } = options;
  if (credentials.kind === 'none') {
    throw new Error('calls without credentials are not served over HTTP: pages in a browser could make them');
  }
  const { address: host } = await lookup(options.host);
  warnOfTrust(credentials, log);
  const admitted = (peer: Peer): void => listener.letIn(peer);
  const { app, drainStreams, settled } = createApp(built, { ...options, admitted });
  await app.ready();
  const { places } = options;
  const listener = await createListener(credentials, app.routing, { log, certificates, ...places });
  listener.server.listen({ host, port });
  await once(listener.server, 'listening');
  const drain = async (): Promise<void> => {
    const ended = listener.end();
    drainStreams();
    await within(drainMs, Promise.all([ended, settled()])).catch(() => undefined);
    listener.cut();
    await app.close();
  };
  let draining: Promise<void> | undefined;
  const bound = (listener.server.address() as AddressInfo).port;
  return { host, port: bound, drain: () => (draining ??= drain()) };
}

/** Answers what no route does. */
function emptyApp() {
  const app = fastify({
    forceCloseConnections: false,
    schemaController: withoutSchemas,
    // Identifiers of records in the paths of pages.
    routerOptions: { maxParamLength: 1024 },
  });
  app.removeAllContentTypeParsers();
  // Connect reads the body.
  app.addContentTypeParser('*', (_request, _body, done) => done(null));
  app.setNotFoundHandler(async (_request, reply) =>
    reply.code(404).send({ code: 'unimplemented', message: 'there is no such method' }),
  );
  return app;
}

function createApp(
  { routes }: Pick<BuiltService, 'routes'>,
  {
    credentials,
    log,
    maxMessageBytes = 4 * 1024 * 1024,
    bodyMs = 30_000,
    admitted,
    pages,
  }: ConnectServeOptions & { admitted(peer: Peer): void },
) {
  const access = new Map<string, Access>();
  const streams = new Set<ServedCall>();
  const answers = new Set<Promise<unknown>>();
  let ending = false;
  const admit = createAdmission({ credentials, access, log });
  /** Runs before the message of a call is read. */
  const requestGate = async (context: HandlerContext): Promise<void> => {
    if (ending) throw shuttingDown();
    const socket = context.values.get(requestKey)?.raw.socket as Partial<TLSSocket> | undefined;
    const peer = peerOf(socket as Socket | undefined);
    const arriving = {
      path: `/${methodName(context.method)}`,
      peer,
      header: (name: string) => context.requestHeader.get(name) ?? '',
      // Where certificates are optional, the handshake takes one that none of our authorities signed.
      certificate: () => (socket?.authorized === true ? socket.getPeerCertificate?.() : undefined),
    };
    const caller = await admit(arriving).catch((refusal: PublicError) => {
      throw toConnectError(refusal);
    });
    admitted(peer);
    context.values.set(admittedKey, caller);
  };
  const router = createConnectRouter({
    requestGate,
    acceptCompression: [compressionGzip],
    readMaxBytes: maxMessageBytes,
    writeMaxBytes: maxMessageBytes,
    // A mistyped field of a request must not go unnoticed.
    jsonOptions: { ignoreUnknownFields: false },
    // Handlers that hand a request on hand on what they have judged.
    binaryOptions: { readUnknownFields: false },
  });
  for (const route of routes) {
    for (const method of route.service.methods) access.set(`/${methodName(method)}`, accessTo(route, method));
    addRoute(router, route, log, streams);
  }
  const described = routes.map(({ service }) => service).filter(({ methods }) => methods.length > 0);
  const toDescription = accessToDescription(routes);
  for (const path of addReflection(router, described)) access.set(path, toDescription);
  const app = emptyApp();
  if (pages !== undefined) void app.register(pages);
  const prover = credentials.kind === 'token' ? credentials.prover : undefined;
  if (prover !== undefined)
    app.post(proofPath, async ({ headers, raw }, reply) => {
      const proof = prover.prove(String(headers[nonceHeader]), raw.socket.localPort ?? 0);
      return proof ?? reply.code(400).send({ code: 'invalid_argument', message: 'there is no nonce' });
    });
  for (const handler of router.handlers) {
    const answer = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
      const values = createContextValues().set(requestKey, request);
      const call = universalRequestFromNodeRequest(request.raw, reply.raw, undefined, values);
      await universalResponseToNodeResponse(await handler(call), reply.raw);
    };
    // By POST alone: the address of a GET would hold the request, and addresses are logged.
    app.post(handler.requestPath, (request, reply) => {
      reply.hijack();
      // An unheard error event would end the process; what follows it is `close`.
      for (const end of [request.raw, reply.raw]) end.on('error', () => undefined);
      if (!sendsStream(handler.method)) {
        const late = setTimeout(() => reply.raw.destroy(), bodyMs).unref();
        for (const event of ['end', 'close']) request.raw.once(event, () => clearTimeout(late));
      }
      const answered = new Promise<void>((resolve) => reply.raw.once('close', resolve));
      answers.add(answered);
      void answered.then(() => answers.delete(answered));
      answer(request, reply).catch((error: unknown) => {
        log.debug({ method: methodName(handler.method), err: error }, 'answer not delivered');
        reply.raw.destroy();
      });
    });
  }
  return {
    app,
    /** Ends every stream, and refuses calls from now on. */
    drainStreams(): void {
      ending = true;
      for (const call of streams) call.cancel(shuttingDown());
    },
    settled: async () => Promise.allSettled(answers),
  };
}

/** Whether its caller may send messages for as long as the call lasts. */
function sendsStream({ methodKind }: DescMethod): boolean {
  return methodKind === 'client_streaming' || methodKind === 'bidi_streaming';
}
