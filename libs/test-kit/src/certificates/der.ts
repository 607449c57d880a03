/** The little of DER (ITU-T X.690) that a certificate needs. */

export function element(tag: number, ...content: readonly Buffer[]): Buffer {
  const body = Buffer.concat(content);
  return Buffer.concat([Buffer.from([tag]), lengthOf(body.length), body]);
}

function lengthOf(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length]);
  const bytes: number[] = [];
  for (let rest = length; rest > 0; rest >>= 8) bytes.unshift(rest & 0xff);
  return Buffer.from([0x80 | bytes.length, ...bytes]);
}

export const sequence = (...content: readonly Buffer[]): Buffer => element(0x30, ...content);
export const set = (...content: readonly Buffer[]): Buffer => element(0x31, ...content);
export const octets = (...content: readonly Buffer[]): Buffer => element(0x04, ...content);
export const bits = (content: Buffer, unused = 0): Buffer => element(0x03, Buffer.from([unused]), content);
export const boolean = (value: boolean): Buffer => element(0x01, Buffer.from([value ? 0xff : 0]));
export const text = (value: string): Buffer => element(0x0c, Buffer.from(value));

/** A positive integer, from its bytes without sign, in the fewest bytes that hold it (X.690 §8.3.2). */
export function integer(bytes: Buffer): Buffer {
  const start = bytes.findIndex((byte) => byte !== 0);
  const least = start === -1 ? Buffer.from([0]) : bytes.subarray(start);
  const signed = (least[0] ?? 0) & 0x80 ? Buffer.concat([Buffer.from([0]), least]) : least;
  return element(0x02, signed);
}

export function objectId(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  const bytes = [first * 40 + second];
  for (const arc of rest) {
    const groups = [arc & 0x7f];
    for (let value = arc >>> 7; value > 0; value >>>= 7) groups.unshift((value & 0x7f) | 0x80);
    bytes.push(...groups);
  }
  return element(0x06, Buffer.from(bytes));
}

/** GeneralizedTime, in whole seconds of UTC. */
export function time(ms: number): Buffer {
  const stamp = new Date(ms).toISOString().replace(/[-:T]/g, '').slice(0, 14);
  return element(0x18, Buffer.from(`${stamp}Z`));
}
