/**
 * `npm run test:chaos`: the system under load while its processes and stores fail.
 *
 *     run ─> scenarios/ ─> system/: replicas behind a balancer, stores
 *              └─> load/: clients of every flow ──> history/: recorder
 *     history/: checker <── what was recorded, audit rows, keys: which rule is broken ─> table
 */
import { runChaos } from './run.ts';

process.exitCode = await runChaos(process.argv.slice(2));
