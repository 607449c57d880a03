/**
 * The environment of a process under test: where programs are, and what Node has compiled before, which is half of what
 * a start costs. Nothing of ours.
 */
export const bareEnvironment = (): Record<string, string> => ({
  PATH: process.env['PATH'] ?? '',
  NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? '',
});
