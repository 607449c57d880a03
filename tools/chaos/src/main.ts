/**
 * `npm run test:chaos`: the system under load while its processes and stores fail.
 *
 *     run ─> scenarios ─> cluster: replicas behind a balancer, stores ─> outages, clock-steps
 *              └─> load/: clients of every flow ──> recorder ─> history
 *     checker <── history, audit rows, keys: which rule is broken ─> table
 */
import { runChaos } from './run.ts';

process.exitCode = await runChaos(process.argv.slice(2));
