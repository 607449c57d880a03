/**
 * The authorize process of split.
 *
 *     gateway, token ══gRPC══> authorize ─┬─> directory
 *                                         └─> Postgres `authorize`, Redis `authorize:*`
 */
import { runService } from '@tessera/process';
import { authorizeConfig, buildAuthorize, migrations } from '@tessera/authorize';
import { DirectoryService } from '@tessera/proto-gen/directory';
import { PersonService } from '@tessera/proto-gen/person';

await runService({
  name: 'authorize',
  config: authorizeConfig,
  environment: process.env,
  stores: { database: true, redis: true },
  migrations,
  build: (config, peers, runtime) =>
    buildAuthorize(
      config,
      {
        directory: peers('directory').client(DirectoryService),
        person: peers('directory').client(PersonService),
      },
      runtime,
    ),
});
