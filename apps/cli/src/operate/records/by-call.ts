import {
  combine,
  peerTarget,
  processConfig,
  rpcConfig,
  rpcCredentials,
  type PeerName,
} from '@tessera/process/settings';
import { openRemoteService } from '@tessera/rpc/remote';
import { orExplain, settings } from '../../settings.ts';
import type { Terminal } from '../../terminal.ts';
import { patiently, terminalLog } from '../schemas/with-database.ts';
import { attempt, type ServiceWork } from './service-work.ts';

/** Calls the processes of a service, as `operator`. Throws CommandError. */
export async function byCall<T>(name: PeerName, terminal: Terminal, work: ServiceWork<T>): Promise<T> {
  const config = orExplain(() => settings(combine(processConfig, rpcConfig), terminal.environment));
  const log = terminalLog(terminal);
  const remote = openRemoteService({
    target: peerTarget(config, name) ?? '',
    as: 'operator',
    credentials: orExplain(() => rpcCredentials(config)),
    peer: name,
    log,
  });
  try {
    return await patiently(async () => attempt(work, remote.client), work.name, log);
  } finally {
    await remote.close();
  }
}
