/** `npm run generate`: writes the TypeScript of libs/proto-gen from the protos. */
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** Generates below `output` instead of below the working directory, when given. */
export function generate(output?: string): void {
  execFileSync('buf', ['generate', ...(output === undefined ? [] : ['--output', output])], {
    stdio: 'inherit',
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  generate();
  console.log('libs/proto-gen/src is what the protos say.');
}
