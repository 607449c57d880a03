import { Counter, Gauge, Histogram, register } from 'prom-client';

export type { Counter, Histogram } from 'prom-client';

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

const readers = new Map<string, Set<() => readonly Sample[]>>();

/** Metrics of this process in the text format of Prometheus: one registry, because a process has one `/metrics`. */
export const metrics = {
  counter({ name, help, labels = [] }: MetricOptions): Counter {
    return new Counter({ name, help, labelNames: [...labels] });
  },
  histogram({ name, help, labels = [] }: MetricOptions): Histogram {
    return new Histogram({ name, help, labelNames: [...labels], buckets: durationBuckets });
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
  text: (): Promise<string> => register.metrics(),
  contentType: register.contentType,
};

function addGauge({ name, help, labels = [] }: MetricOptions): Set<() => readonly Sample[]> {
  const known = new Set<() => readonly Sample[]>();
  readers.set(name, known);
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
