/** An item with the name of the stream it came from. */
export type StreamItem<T extends object> = {
  [N in keyof T]: { readonly from: N; readonly item: T[N] };
}[keyof T];

/** Yields the items of several streams as they arrive, in turn. Ends or fails with the first stream that does. */
export async function* mergeStreams<T extends object>(streams: {
  readonly [N in keyof T]: AsyncIterator<T[N]>;
}): AsyncGenerator<StreamItem<T>, void> {
  const names = Object.keys(streams) as (keyof T)[];
  const read = async (from: keyof T): Promise<StreamItem<T> | undefined> => {
    const next = await streams[from].next();
    return next.done === true ? undefined : ({ from, item: next.value } as StreamItem<T>);
  };
  const pending = new Map(names.map((name) => [name, read(name)]));
  try {
    for (;;) {
      const arrived = await Promise.race(pending.values());
      if (arrived === undefined) return;
      // Moved to the end of the map, so that a busy stream does not starve the others.
      pending.delete(arrived.from);
      pending.set(arrived.from, read(arrived.from));
      yield arrived;
    }
  } finally {
    // A generator that waits at a `yield` notices no signal, so the streams are ended explicitly. Their last results do
    // not matter.
    const ends = names.map(async (name) => streams[name].return?.());
    void Promise.allSettled([...pending.values(), ...ends]);
  }
}
