/** Calls between processes. What they need is loaded when one is set up: compact needs none, and gRPC's libraries take 5 MiB at rest. */
import type { BuiltService } from './call.ts';
import type { Peer, PeerOptions } from './remote.ts';
import type { RpcServer, ServeOptions } from './serve.ts';

/** As `serve` of serve.ts, which says what is served to whom, and what fails. */
export async function serve(built: BuiltService, options: ServeOptions): Promise<RpcServer> {
  const grpc = await import('./serve.ts');
  return grpc.serve(built, options);
}

/** As `connectPeer` of remote.ts: connects lazily, and calls fail while the peer is away. */
export async function connectPeer(options: PeerOptions): Promise<Peer> {
  const grpc = await import('./remote.ts');
  return grpc.connectPeer(options);
}
