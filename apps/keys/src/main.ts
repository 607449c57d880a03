/**
 * The keys process of split.
 *
 *     token (sign), gateway (public keys), operator ══gRPC══> keys ──> Postgres `keys`
 */
import { runService } from '@tessera/process';
import { buildKeys, keysConfig, migrations } from '@tessera/keys';

await runService({
  name: 'keys',
  config: keysConfig,
  environment: process.env,
  stores: { database: true, redis: false },
  migrations,
  build: (config, _peers, runtime) => buildKeys(config, {}, runtime),
});
