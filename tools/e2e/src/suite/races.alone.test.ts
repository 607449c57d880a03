import { runsEverything } from '@tessera/test-kit';
import { setUps } from '../harness/set-up.ts';
import { onSetUp } from './on-set-up.ts';
import { racesSuite } from '../suites/tokens/races.ts';

onSetUp((system, setUp) => {
  // Most where the stores are real and the processes few; elsewhere enough to prove the topology.
  racesSuite(
    system,
    setUp === setUps.compact ? (runsEverything ? 200 : 50) : setUp.rpc === 'token' ? 50 : 10,
  );
});
