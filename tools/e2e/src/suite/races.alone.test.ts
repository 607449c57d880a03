import { setUps } from '../harness/set-up.ts';
import { onSetUp } from './on-set-up.ts';
import { racesSuite } from '../suites/tokens/races.ts';

onSetUp((system, setUp) => {
  // The full two hundred rounds where the stores are real and the processes few; elsewhere enough to prove the
  // topology.
  racesSuite(system, setUp === setUps.compact ? 200 : setUp.rpc === 'token' ? 50 : 10);
});
