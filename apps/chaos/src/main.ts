/** `npm run test:chaos`: the system under load while its processes and stores fail. */
import { runChaos } from './run.ts';

process.exitCode = await runChaos(process.argv.slice(2));
