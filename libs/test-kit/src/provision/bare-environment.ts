/**
 * The environment of a process under test: where programs are, and what Node has compiled before, which is half of what
 * a start costs. Nothing of ours.
 */
export const bareEnvironment = (): Record<string, string> => ({
  PATH: process.env['PATH'] ?? '',
  NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? '',
});

/**
 * Options of Node for processes that live for seconds beside as many as there are: they collect rarely, and not on more
 * threads than there are cores, which takes a tenth off the processor time of a start.
 */
export const rareCollections: readonly string[] = ['--min-semi-space-size=16', '--single-threaded-gc'];
