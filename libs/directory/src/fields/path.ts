/** Keys and indexes from the top of the document. */
export type Path = readonly (string | number)[];

/** For example `users[1].email`. */
export function keyOf(path: Path): string {
  return path.reduce<string>(
    (key, step) => (typeof step === 'number' ? `${key}[${step}]` : key === '' ? step : `${key}.${step}`),
    '',
  );
}
