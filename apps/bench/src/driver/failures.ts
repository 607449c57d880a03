const counts = new Map<string, number>();

/** Keeps in mind what went wrong, by its kind: a status, a gRPC code, the code of a connection's error. */
export function note(kind: string, count = 1): void {
  if (count > 0) counts.set(kind, (counts.get(kind) ?? 0) + count);
}

/** What went wrong since the last time, in words; '' when nothing did. */
export function failures(): string {
  const text = [...counts].map(([kind, count]) => `${count} × ${kind}`).join(', ');
  counts.clear();
  return text;
}
