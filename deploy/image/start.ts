/** The entry point of the image: the first argument chooses the process, which then is this one; no shell is needed. */
import { processes } from './processes.ts';

const [node = '', self = '', name = '', ...rest] = process.argv;
const module = Object.hasOwn(processes, name) ? processes[name] : undefined;

if (module === undefined) {
  process.stderr.write(
    `${name === '' ? 'Nothing' : `"${name}"`} cannot be started. Name one of: ${Object.keys(processes).join(', ')}.\n`,
  );
  process.exitCode = 64;
} else {
  process.argv = [node, self, ...rest];
  await import(new URL(`../../${module}`, import.meta.url).href);
}
