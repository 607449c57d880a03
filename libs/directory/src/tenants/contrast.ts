type Channels = readonly [red: number, green: number, blue: number];

/** The contrast that text of any size must have (WCAG 2.2 §1.4.3, AA). */
const leastContrast = 4.5;

/** The backgrounds of pages on which a contrast is the lowest, in light and in dark. */
const backgrounds = { light: '#f3f4f8', dark: '#191c28' } as const;

export type Scheme = keyof typeof backgrounds;

/** Whether text and buttons of a colour, `#rrggbb`, can be read on the pages of a scheme. */
export function isReadable(color: string, scheme: Scheme): boolean {
  return contrast(channelsOf(color), channelsOf(backgrounds[scheme])) >= leastContrast;
}

/** The colour, lightened until it can be read on dark pages. */
export function forDarkPages(color: string): string {
  for (let share = 0; share < 1; share += 0.05) {
    const lighter = channelsOf(color).map((channel) => Math.round(channel + (255 - channel) * share));
    const text = `#${lighter.map((channel) => channel.toString(16).padStart(2, '0')).join('')}`;
    if (isReadable(text, 'dark')) return text;
  }
  return '#ffffff';
}

/** The contrast ratio of two colours (WCAG 2.2, "contrast ratio"). */
function contrast(one: Channels, other: Channels): number {
  const [darker = 0, lighter = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (lighter + 0.05) / (darker + 0.05);
}

/** WCAG 2.2, "relative luminance". */
function luminance(channels: Channels): number {
  const [red = 0, green = 0, blue = 0] = channels.map((channel) => {
    const share = channel / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function channelsOf(color: string): Channels {
  const channel = (at: number) => Number.parseInt(color.slice(at, at + 2), 16);
  return [channel(1), channel(3), channel(5)];
}
