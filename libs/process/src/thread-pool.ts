import { availableParallelism } from 'node:os';

/**
 * One thread for cryptography more than there are cores: passwords are hashed on every core, and the last thread keeps
 * signatures from waiting behind them. More threads only take the cores from one another and from the event loop. libuv
 * reads the setting when its first work arrives, so this comes before any; a value that is set already stays.
 * @param environment the process's own, where libuv looks
 */
export function sizeThreadPool(
  environment: Record<string, string | undefined>,
  cores: number = availableParallelism(),
): void {
  environment['UV_THREADPOOL_SIZE'] ??= String(cores + 1);
}
