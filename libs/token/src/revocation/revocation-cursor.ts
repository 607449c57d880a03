import { Code, ConnectError } from '@tessera/rpc';

/** Where a watcher stands in each of the records that its stream is made of. */
export interface Positions {
  readonly families: number;
  readonly directory: number;
  readonly sessions: number;
}

const shape = /^1\.(\d{1,15})\.(\d{1,15})\.(\d{1,15})$/;

/** The cursor is ours to read alone; callers hand it back as it is. */
export function cursorOf({ families, directory, sessions }: Positions): string {
  return `1.${families}.${directory}.${sessions}`;
}

/** Undefined for an empty cursor. Throws INVALID_ARGUMENT for what is none. */
export function parseCursor(cursor: string): Positions | undefined {
  if (cursor === '') return undefined;
  const [whole, families, directory, sessions] = shape.exec(cursor) ?? [];
  if (whole === undefined) throw new ConnectError('The cursor is not one of ours.', Code.InvalidArgument);
  return { families: Number(families), directory: Number(directory), sessions: Number(sessions) };
}

/** Something between the cursor and the present is not on record any more. */
export function outOfRange(): ConnectError {
  return new ConnectError('The cursor is too old. Start again without one.', Code.OutOfRange);
}
