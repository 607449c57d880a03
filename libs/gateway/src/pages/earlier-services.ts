import { temporarilyUnavailable } from '@tessera/oauth';
import { Code, ConnectError } from '@tessera/rpc';

/** Compatibility until 0.3: a service of version 0.1 does not know what a page asks it. The page then asks to try again later. */
export async function unlessEarlier<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const isEarlier =
      error instanceof ConnectError && [Code.Unimplemented, Code.InvalidArgument].includes(error.code);
    throw isEarlier ? temporarilyUnavailable(error) : error;
  }
}
