/** An item with the name of the stream it came from. */
export type Heard<T extends object> = { [N in keyof T]: { readonly from: N; readonly item: T[N] } }[keyof T];

/** The items of several streams as they come, each in its turn. The first stream that ends or fails ends them all. */
export async function* merge<T extends object>(streams: {
  readonly [N in keyof T]: AsyncIterator<T[N]>;
}): AsyncGenerator<Heard<T>, void> {
  const names = Object.keys(streams) as (keyof T)[];
  const ask = async (from: keyof T): Promise<Heard<T> | undefined> => {
    const next = await streams[from].next();
    return next.done === true ? undefined : ({ from, item: next.value } as Heard<T>);
  };
  const pending = new Map(names.map((name) => [name, ask(name)]));
  try {
    for (;;) {
      const heard = await Promise.race(pending.values());
      if (heard === undefined) return;
      // To the end of the line, so that a stream with much to tell leaves the others their turns.
      pending.delete(heard.from);
      pending.set(heard.from, ask(heard.from));
      yield heard;
    }
  } finally {
    // What the streams still answer concerns nobody. One that waits at an item nobody takes any more hears of no signal.
    const ends = names.map(async (name) => streams[name].return?.());
    void Promise.allSettled([...pending.values(), ...ends]);
  }
}
