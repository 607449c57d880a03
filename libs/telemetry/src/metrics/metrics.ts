import type * as Library from 'prom-client';

interface Counted {
  inc(by?: number): void;
}

export interface Counter extends Counted {
  labels(...values: string[]): Counted;
}

interface Observed {
  observe(value: number): void;
}

export interface Histogram {
  labels(...values: string[]): Observed;
  /** Starts a series at 0. */
  zero(labels: Readonly<Record<string, string>>): void;
}

export interface MetricOptions {
  /** `tessera_<what>_<unit>`; counters end with `_total`. */
  readonly name: string;
  readonly help: string;
  /** Names of the labels. Their values are from closed lists: never a secret, an identifier or a client's input. */
  readonly labels?: readonly string[];
}

export interface Sample {
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Seconds, from a cached answer to a time-out. */
export const durationBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

const ignoring: Counted & Observed = { inc: () => undefined, observe: () => undefined };

let library: typeof Library | undefined;
/** Makes the metrics that were declared before they could be read. */
const declared: ((loaded: typeof Library) => void)[] = [];

/** A metric, once metrics can be read. */
function onceRead<M>(make: (loaded: typeof Library) => M): () => M | undefined {
  let made: M | undefined;
  const keep = (loaded: typeof Library): void => void (made = make(loaded));
  if (library === undefined) declared.push(keep);
  else keep(library);
  return () => made;
}

const readers = new Map<string, Set<() => readonly Sample[]>>();

/**
 * Metrics of this process in the text format of Prometheus: one registry, because a process has one `/metrics`. Nothing
 * is loaded and nothing counted until they are opened, as where there is no `/metrics`.
 */
export const metrics = {
  async open(): Promise<typeof Library> {
    library = await import('prom-client');
    for (const make of declared.splice(0)) make(library);
    return library;
  },
  counter({ name, help, labels = [] }: MetricOptions): Counter {
    const counter = onceRead(({ Counter }) => new Counter({ name, help, labelNames: [...labels] }));
    return {
      inc: (by) => counter()?.inc(by),
      labels: (...values) => counter()?.labels(...values) ?? ignoring,
    };
  },
  histogram({ name, help, labels = [] }: MetricOptions): Histogram {
    const histogram = onceRead(
      ({ Histogram }) => new Histogram({ name, help, labelNames: [...labels], buckets: durationBuckets }),
    );
    return {
      labels: (...values) => histogram()?.labels(...values) ?? ignoring,
      zero: (given) => histogram()?.zero({ ...given }),
    };
  },
  /**
   * A gauge that is read when the metrics are requested. Several readers of one name add up per series.
   * @returns a function that removes the reader
   */
  gauge(options: MetricOptions, read: () => readonly Sample[]): () => void {
    const known = readers.get(options.name) ?? addGauge(options);
    known.add(read);
    return () => void known.delete(read);
  },
  /** What is served at `/metrics`; nothing before they are opened. */
  async read(): Promise<{ readonly contentType: string; readonly text: string }> {
    if (library === undefined) return { contentType: 'text/plain', text: '' };
    const { register } = library;
    return { contentType: register.contentType, text: await register.metrics() };
  },
  text: async (): Promise<string> => (await metrics.read()).text,
};

function addGauge({ name, help, labels = [] }: MetricOptions): Set<() => readonly Sample[]> {
  const known = new Set<() => readonly Sample[]>();
  readers.set(name, known);
  onceRead(({ Gauge }) => {
    const gauge = new Gauge({
      name,
      help,
      labelNames: [...labels],
      collect() {
        gauge.reset();
        // Without labels a reset leaves a 0 that was never measured.
        if (labels.length === 0) gauge.remove();
        for (const sample of [...known].flatMap(readSafely)) gauge.inc({ ...sample.labels }, sample.value);
      },
    });
    return gauge;
  });
  return known;
}

/** A reader that fails leaves out its samples; the other metrics are still served. */
function readSafely(read: () => readonly Sample[]): readonly Sample[] {
  try {
    return read();
  } catch {
    return [];
  }
}
