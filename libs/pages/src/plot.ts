/** What a plot shows of a stretch of time. */
export interface PlotPoint {
  /** When it begins. */
  readonly time: number;
  readonly value: number;
}

/** A bar, in hundredths of the width and of the height. */
interface Bar {
  readonly x: number;
  readonly width: number;
  readonly y: number;
  readonly height: number;
}

/** A plot as the template `kit/plot` shows it, beside a table of the same: a bar for each stretch of time. */
export interface Plot {
  readonly caption: string;
  readonly bars: readonly Bar[];
  readonly most: number;
  /** When the first and the last stretch begin. */
  readonly first: number;
  readonly last: number;
}

/** Of a bar and the gap after it. */
const barShare = 0.7;
/** What is not nothing can be seen. */
const leastHeight = 2;
const leastWidth = 1;

/** The plot of some stretches of time, at least one. */
export function plotOf(caption: string, points: readonly PlotPoint[]): Plot {
  const most = Math.max(0, ...points.map(({ value }) => value));
  const step = 100 / points.length;
  const rounded = (number: number) => Math.round(number * 100) / 100;
  const bars = points.map(({ value }, index) => {
    const height = value === 0 ? 0 : Math.max(leastHeight, (value / most) * 100);
    return {
      x: rounded(index * step + (step * (1 - barShare)) / 2),
      width: rounded(step * barShare),
      y: rounded(100 - height),
      height: rounded(height),
    };
  });
  return { caption, bars, most, first: points[0]?.time ?? 0, last: points.at(-1)?.time ?? 0 };
}

/** A state that something was in, from one time to another. */
export interface LinePart {
  /** Its state, as the style sheet and a sentence of the languages name it. */
  readonly state: string;
  readonly from: number;
  readonly until: number;
}

/** Things and their states on one line of time, as the template `kit/time-line` shows them. */
export interface TimeLine {
  readonly lines: readonly {
    readonly name: string;
    readonly parts: readonly (Pick<Bar, 'x' | 'width'> & { readonly state: string })[];
  }[];
  readonly first: number;
  readonly last: number;
}

/** The time line of some things, each with its parts in order. A part that is hardly there can still be seen. */
export function timeLineOf(
  things: readonly { readonly name: string; readonly parts: readonly LinePart[] }[],
): TimeLine {
  const parts = things.flatMap((thing) => thing.parts);
  const first = Math.min(...parts.map(({ from }) => from));
  const last = Math.max(...parts.map(({ until }) => until));
  const share = (time: number) => Math.round(((time - first) / Math.max(1, last - first)) * 10_000) / 100;
  const lines = things.map(({ name, parts: own }) => ({
    name,
    parts: own.map(({ state, from, until }) => {
      const x = Math.min(share(from), 100 - leastWidth);
      return { state, x, width: Math.max(leastWidth, share(until) - x) };
    }),
  }));
  return { lines, first, last };
}
