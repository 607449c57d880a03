const counts = new Map<string, number>();

/** Counts failures by kind: status, gRPC code, or code of a connection error. */
export function note(kind: string, count = 1): void {
  if (count > 0) counts.set(kind, (counts.get(kind) ?? 0) + count);
}

/** Describes the failures since the last call; empty if there were none. */
export function failures(): string {
  const text = [...counts].map(([kind, count]) => `${count} × ${kind}`).join(', ');
  counts.clear();
  return text;
}
