/** The headers of a list of `name=value`; undefined where it is none. */
export function parseHeaders(text: string): Readonly<Record<string, string>> | undefined {
  const headers = new Headers();
  try {
    for (const entry of text.split(',').filter((part) => part.trim() !== '')) {
      const at = entry.indexOf('=');
      if (at < 1) return undefined;
      headers.set(entry.slice(0, at).trim(), decodeURIComponent(entry.slice(at + 1).trim()));
    }
  } catch {
    return undefined;
  }
  return Object.fromEntries(headers);
}
