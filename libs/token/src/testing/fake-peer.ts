import { Code, ConnectError, type Client, type DescService, type Handlers } from '@tessera/rpc';
import { fakeClient } from '@tessera/rpc/testing';

/** A fake of another service, called in process like the real one. A call that has no answer fails by its name. */
export function fakePeer<S extends DescService>(service: S, answers: Partial<Handlers<S>>): Client<S> {
  return fakeClient(service, answers, { as: 'token' });
}

/** A switch that makes a fake service unavailable. */
export interface Line {
  cut: boolean;
}

export function throughLine(line: Line): void {
  if (line.cut) throw new ConnectError('the service is unavailable', Code.Unavailable);
}
