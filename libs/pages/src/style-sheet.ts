/** The colours of a tenant's buttons and links: `#rrggbb`, empty for the usual one. */
interface Colors {
  readonly accentColor: string;
  readonly accentColorDark: string;
}

/** The style sheet that replaces the usual colours; empty if there is nothing to replace. */
export function styleSheet({ accentColor, accentColorDark }: Colors): string {
  return (
    rule(accentColor, 0, '', '') + rule(accentColorDark, 255, '@media (prefers-color-scheme: dark) { ', ' }')
  );
}

/** Under the pointer a colour goes towards black or white, away from the background, so that its contrast grows. */
function rule(color: string, towards: 0 | 255, before: string, after: string): string {
  if (!/^#[0-9a-f]{6}$/.test(color)) return '';
  const strong = [1, 3, 5].map((at) => {
    const channel = Number.parseInt(color.slice(at, at + 2), 16);
    return Math.round(channel + (towards - channel) * 0.2)
      .toString(16)
      .padStart(2, '0');
  });
  return `${before}:root { --accent: ${color}; --accent-strong: #${strong.join('')}; }${after}\n`;
}
