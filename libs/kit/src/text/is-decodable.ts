/** Whether a text is valid percent-encoding of UTF-8 (RFC 3986 §2.1), so that `decodeURIComponent` takes it. */
export function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}
