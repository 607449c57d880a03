import { closeSync, fstatSync, openSync, readFileSync, readSync, type Stats } from 'node:fs';
import { CommandError, type Terminal } from '../../terminal.ts';
import { contentOf, encodingOf, textOf } from './text-of-file.ts';

/**
 * A text in JSON that is read in parts, whose places are characters or bytes of UTF-8: what gives JSON its structure is
 * ASCII in both.
 */
export interface JsonSource {
  readonly size: number;
  /** NaN behind the end. */
  codeAt(place: number): number;
  text(from: number, to: number): string;
}

/** What the memory has as a whole. */
export function textSource(given: string): JsonSource {
  const text = given.startsWith('\uFEFF') ? given.slice(1) : given;
  return {
    size: text.length,
    codeAt: (place) => text.charCodeAt(place),
    text: (from, to) => text.slice(from, to),
  };
}

/** Of a file in memory at a time. */
const windowBytes = 256 * 1024;
const byteOrderMark = Buffer.from('\uFEFF');

/**
 * A file, of which the memory has a part at a time, as often as it is read; standard input as `-`, and what is no file
 * on a disk, as a whole. Throws CommandError, also for what is not UTF-8 or UTF-16.
 */
export async function sourceOf(file: string, terminal: Pick<Terminal, 'input'>): Promise<JsonSource> {
  if (file === '-') return textSource(await contentOf(file, terminal));
  let first: Buffer;
  let stats: Stats;
  try {
    [first, stats] = reading(file, (descriptor, of) => [bytesAt(descriptor, 0, Buffer.alloc(4)), of]);
  } catch {
    throw new CommandError(`Cannot read the file ${file}.`);
  }
  if (!stats.isFile() || encodingOf(first) !== 'utf-8')
    return textSource(stats.isFile() ? textOf(readFileSync(file), file) : await contentOf(file, terminal));
  const start = first.subarray(0, 3).equals(byteOrderMark) ? 3 : 0;
  const source = fileSource(file, { start, stats });
  requireUtf8(source, file);
  return source;
}

/** Its bytes from a place on. Throws CommandError if the file is another than it was. */
interface FileSource extends JsonSource {
  bytes(from: number, to: number): Buffer;
}

function fileSource(file: string, { start, stats }: { start: number; stats: Stats }): FileSource {
  const size = stats.size - start;
  const usual = Buffer.allocUnsafeSlow(windowBytes);
  let window: Buffer = usual.subarray(0, 0);
  let [windowStart, windowEnd] = [0, 0];
  const bytes = (from: number, to: number): Buffer => {
    if (from >= windowStart && to <= windowEnd) return window.subarray(from - windowStart, to - windowStart);
    window = reading(file, (descriptor, now) => {
      if (now.size !== stats.size || now.mtimeMs !== stats.mtimeMs)
        throw new CommandError(`The file ${file} was changed while it was read. Import it again.`);
      const length = Math.min(size - from, Math.max(windowBytes, to - from));
      const into = length > windowBytes ? Buffer.allocUnsafeSlow(length) : usual.subarray(0, length);
      return bytesAt(descriptor, start + from, into);
    });
    [windowStart, windowEnd] = [from, from + window.length];
    return window.subarray(0, to - from);
  };
  return {
    size,
    bytes,
    codeAt(place) {
      if (place >= size) return Number.NaN;
      if (place < windowStart || place >= windowEnd) bytes(place, place + 1);
      return window[place - windowStart] ?? Number.NaN;
    },
    text: (from, to) => bytes(from, Math.min(to, size)).toString('utf8'),
  };
}

function requireUtf8(source: FileSource, file: string): void {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  try {
    for (let at = 0; at < source.size; at += windowBytes)
      decoder.decode(source.bytes(at, Math.min(at + windowBytes, source.size)), { stream: true });
    // What has begun must end.
    decoder.decode(new Uint8Array());
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new CommandError(`The file ${file} is not UTF-8. Save it as UTF-8 and try again.`);
  }
}

function reading<T>(file: string, read: (descriptor: number, stats: Stats) => T): T {
  const descriptor = openSync(file, 'r');
  try {
    return read(descriptor, fstatSync(descriptor));
  } finally {
    closeSync(descriptor);
  }
}

function bytesAt(descriptor: number, from: number, into: Buffer): Buffer {
  let read = 0;
  while (read < into.length) {
    const more = readSync(descriptor, into, read, into.length - read, from + read);
    if (more === 0) break;
    read += more;
  }
  return into.subarray(0, read);
}
