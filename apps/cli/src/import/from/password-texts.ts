import type { FoundPassword } from './product.ts';

/** What the texts of hashes begin with that are known here, whatever their costs. */
const known = /^\$(2[aby]\$|argon2(id|i|d)\$|pbkdf2-sha(1|256|512)\$|scrypt\$)/;

/** A hash that is a bcrypt text or PHC string, or that it is something else. */
export function hashAsText(text: string): FoundPassword {
  return known.test(text) ? { hash: text } : unknownHash();
}

/** @param algorithm its name, if the file has it */
export function unknownHash(algorithm = ''): FoundPassword {
  const by = /^[\w-]{1,40}$/.test(algorithm) ? ` by ${algorithm}` : '';
  return { problem: `it has a hash${by}, which is unknown here` };
}
