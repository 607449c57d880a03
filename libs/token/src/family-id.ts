import type { Random } from '@tessera/kit';

/** A UUID version 4 (RFC 9562 §5.4) in its text form. */
export function newFamilyId(random: Random): string {
  const bytes = random.bytes(16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x40, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return uuidText(bytes);
}

/** The text form of the 16 bytes of a UUID (RFC 9562 §4). */
export function uuidText(bytes: Buffer): string {
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}
