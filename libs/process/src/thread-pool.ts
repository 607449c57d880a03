import { availableParallelism } from 'node:os';

/**
 * As many threads for cryptography as there are cores, two at least: more only take the cores from one another and from
 * the event loop, and each sleeps between two signatures and has to be woken. libuv reads the setting when its first
 * work arrives, so this comes before any; a value that is set already stays.
 * @param environment the process's own, where libuv looks
 */
export function sizeThreadPool(
  environment: Record<string, string | undefined>,
  cores: number = availableParallelism(),
): void {
  environment['UV_THREADPOOL_SIZE'] ??= String(Math.max(2, cores));
}
