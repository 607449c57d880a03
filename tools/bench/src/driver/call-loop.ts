import { Client, credentials, Metadata, status } from '@grpc/grpc-js';
import type { CallLoad } from '../operations/operation.ts';
import type { LoopResult } from './driver.ts';
import { note } from './failures.ts';

const same = (bytes: Buffer): Buffer => bytes;

/** Over one connection, keeps `inFlight` calls in flight for as many seconds as the returned function is told. */
export function callLoop(load: CallLoad, inFlight: number): (seconds: number) => Promise<LoopResult> {
  const client = new Client(load.target, credentials.createInsecure());
  const metadata = Metadata.fromHttp2Headers(load.metadata);
  /** Resolves with whether the response was correct. */
  const call = (): Promise<boolean> =>
    new Promise((resolve) => {
      const deadline = Date.now() + 30_000;
      client.makeUnaryRequest(
        load.method,
        same,
        same,
        load.next(),
        metadata,
        { deadline },
        (error, answer) => {
          const isGood = error === null && load.accept(answer ?? Buffer.alloc(0));
          if (!isGood) note(error === null ? 'another answer' : `gRPC ${status[error.code]}`);
          resolve(isGood);
        },
      );
    });
  return async (seconds) => {
    let [operations, errors] = [0, 0];
    const started = performance.now();
    const end = started + seconds * 1000;
    const worker = async (): Promise<void> => {
      while (performance.now() < end) {
        if (await call()) operations += 1;
        else errors += 1;
      }
    };
    await Promise.all(Array.from({ length: inFlight }, worker));
    return { operations, errors, seconds: (performance.now() - started) / 1000 };
  };
}
