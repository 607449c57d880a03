import { until, type LiveObject, type Namespace } from '../kubernetes.ts';

const plural = 'tesseraapplications';

const readyOf = ({ status }: LiveObject) => status?.conditions?.find(({ type }) => type === 'Ready');

/** Resolves with the message of the condition `Ready` once that is so, such as `False Conflict`. */
export async function becomes(on: Namespace, name: string, said: string): Promise<string> {
  let last = '';
  const what = `${name} of ${on.name} does not become ${said}`;
  return until(what, async () => {
    const objects = await on.list(plural);
    const found = objects.find(({ metadata }) => metadata.name === name);
    const ready = found && readyOf(found);
    last = ready === undefined ? '' : `${ready.status} ${ready.reason}`;
    return last === said ? (ready?.message ?? '') : undefined;
  });
}

export interface Progress {
  readonly all: number;
  /** Whose records are as they are declared at this generation. */
  readonly written: number;
}

export async function progressOf(on: Namespace, generation: number): Promise<Progress> {
  const objects = await on.list(plural);
  const written = objects.filter(
    (object) => object.status?.observedGeneration === generation && readyOf(object)?.reason === 'Written',
  );
  return { all: objects.length, written: written.length };
}

/** Resolves when it is gone, which is when its record is. */
export async function remove(on: Namespace, name: string): Promise<void> {
  await on.kubectl(['delete', plural, name, '--wait=true', '--timeout=5m']);
}

/** Without waiting for their records. */
export async function removeAll(on: Namespace): Promise<void> {
  await on.kubectl(['delete', plural, '--all', '--wait=false']);
}
