/**
 * What a process counts and measures, in the text format of Prometheus. Series are resolved once and then cost an addition:
 * nothing is hashed or allocated where requests pass.
 */

/** Values of the labels of a family, in its order. Never a secret, an identifier or anything a client chose. */
export type LabelValues = readonly string[];

export interface Counter {
  add(amount?: number): void;
}

export interface Histogram {
  observe(value: number): void;
}

export interface Family<S> {
  /** The series with these values; remembered, so it is best asked for once. */
  with(...values: LabelValues): S;
}

export interface FamilyOptions {
  /** `tessera_<what>_<unit>`, counters end with `_total`. */
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly string[];
}

export interface Sample {
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Registry {
  counter(options: FamilyOptions): Family<Counter>;
  histogram(options: FamilyOptions & { readonly buckets: readonly number[] }): Family<Histogram>;
  /**
   * Read when somebody asks for the metrics; several readers of one name add up per series. Answers how to end it.
   * What only grows is named `_total`, and is a counter then.
   */
  gauge(options: FamilyOptions, read: () => readonly Sample[]): () => void;
  /** Every family by name: for tests that hold dashboards and alerts against it. */
  names(): readonly string[];
  text(): string;
}

export const metricsContentType = 'text/plain; version=0.0.4; charset=utf-8';

/** More series than a family may have count as one: labels are from closed lists, and this is for the day one is not. */
const maximumSeries = 500;
const overflow = '(other)';

interface Written {
  readonly type: 'counter' | 'histogram' | 'gauge';
  readonly help: string;
  lines(): string[];
}

export function createRegistry(): Registry {
  const families = new Map<string, Written>();
  const readers = new Map<string, Set<() => readonly Sample[]>>();

  function add(name: string, family: Written): void {
    if (families.has(name)) throw new Error(`There already is a metric ${name}.`);
    families.set(name, family);
  }

  return {
    counter({ name, help, labels = [] }) {
      const series = new SeriesMap(labels, () => new CounterSeries());
      add(name, {
        type: 'counter',
        help,
        lines: () => series.lines((text, one) => [`${name}${text} ${one.value}`]),
      });
      return series;
    },
    histogram({ name, help, labels = [], buckets }) {
      const series = new SeriesMap(labels, () => new HistogramSeries(buckets));
      add(name, { type: 'histogram', help, lines: () => series.lines((text, one) => one.lines(name, text)) });
      return series;
    },
    gauge({ name, help }, read) {
      const known = readers.get(name) ?? new Set();
      known.add(read);
      if (!readers.has(name)) {
        readers.set(name, known);
        add(name, {
          type: name.endsWith('_total') ? 'counter' : 'gauge',
          help,
          lines: () => gaugeLines(name, [...known].flatMap(readSafely)),
        });
      }
      return () => void known.delete(read);
    },
    names: () => [...families.keys()].toSorted(),
    text() {
      const parts = [...families].map(([name, { type, help, lines }]) =>
        [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines()].join('\n'),
      );
      return `${parts.join('\n')}\n`;
    },
  };
}

class SeriesMap<S> implements Family<S> {
  readonly #labels: readonly string[];
  readonly #make: () => S;
  readonly #series = new Map<string, { readonly text: string; readonly one: S }>();

  constructor(labels: readonly string[], make: () => S) {
    this.#labels = labels;
    this.#make = make;
    if (labels.length === 0) this.with();
  }

  with(...values: LabelValues): S {
    const key = values.join('\u0000');
    const known = this.#series.get(key);
    if (known !== undefined) return known.one;
    if (this.#series.size >= maximumSeries && !values.every((value) => value === overflow)) {
      return this.with(...values.map(() => overflow));
    }
    const text = labelText(
      Object.fromEntries(this.#labels.map((label, index) => [label, values[index] ?? ''])),
    );
    const one = this.#make();
    this.#series.set(key, { text, one });
    return one;
  }

  lines(write: (text: string, one: S) => string[]): string[] {
    return [...this.#series.values()].flatMap(({ text, one }) => write(text, one));
  }
}

class CounterSeries implements Counter {
  value = 0;

  add(amount = 1): void {
    this.value += amount;
  }
}

class HistogramSeries implements Histogram {
  readonly #bounds: readonly number[];
  readonly #counts: number[];
  #sum = 0;
  #count = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = bounds.map(() => 0);
  }

  observe(value: number): void {
    this.#sum += value;
    this.#count += 1;
    for (let index = 0; index < this.#bounds.length; index += 1) {
      if (value <= (this.#bounds[index] ?? Infinity)) {
        this.#counts[index] = (this.#counts[index] ?? 0) + 1;
        return;
      }
    }
  }

  lines(name: string, text: string): string[] {
    let below = 0;
    const buckets = this.#bounds.map((bound, index) => {
      below += this.#counts[index] ?? 0;
      return `${name}_bucket${withLabel(text, 'le', String(bound))} ${below}`;
    });
    return [
      ...buckets,
      `${name}_bucket${withLabel(text, 'le', '+Inf')} ${this.#count}`,
      `${name}_sum${text} ${this.#sum}`,
      `${name}_count${text} ${this.#count}`,
    ];
  }
}

/** What cannot be read now is missing; the rest is still told. */
function readSafely(read: () => readonly Sample[]): readonly Sample[] {
  try {
    return read();
  } catch {
    return [];
  }
}

function gaugeLines(name: string, samples: readonly Sample[]): string[] {
  const sums = new Map<string, number>();
  for (const { labels = {}, value } of samples) {
    const text = labelText(labels);
    sums.set(text, (sums.get(text) ?? 0) + value);
  }
  return [...sums].map(([text, value]) => `${name}${text} ${value}`);
}

function labelText(labels: Readonly<Record<string, string>>): string {
  const parts = Object.entries(labels).map(([label, value]) => `${label}="${escaped(value)}"`);
  return parts.length === 0 ? '' : `{${parts.join(',')}}`;
}

function withLabel(text: string, label: string, value: string): string {
  return text === '' ? `{${label}="${value}"}` : `${text.slice(0, -1)},${label}="${value}"}`;
}

function escaped(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
