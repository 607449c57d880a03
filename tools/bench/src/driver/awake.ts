/**
 * Keeps this process from sleeping while `work` runs. An answer sent to a process that sleeps costs its sender the waking,
 * on a virtual machine more than the answer itself; between machines there is no such cost.
 */
export async function awake<T>(work: () => Promise<T>): Promise<T> {
  let isDone = false;
  const turn = (): void => {
    if (!isDone) setImmediate(turn);
  };
  turn();
  try {
    return await work();
  } finally {
    isDone = true;
  }
}
