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
