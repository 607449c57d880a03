import * as errors from 'jose/errors';
import { compactVerify } from 'jose/jws/compact/verify';
import { importJWK } from 'jose/key/import';
import type { ReadAssertion } from '@tessera/oauth';
import { isOfUsualLength, type Jwk } from '../applications/public-keys.ts';

/** What a key of each type signs with; jose refuses curves and lengths that do not fit. */
const typeOf = (alg: string): string => (alg.startsWith('ES') ? 'EC' : 'RSA');
/** Keys that are tried if an assertion names none. */
const mostTried = 10;

type Imported = Awaited<ReturnType<typeof importJWK>>;
const imported = new WeakMap<Jwk, Map<string, Promise<Imported>>>();

/** The keys that may have signed an assertion. A key that it names itself is none of them. */
export function candidates(keys: readonly Jwk[], { header: { alg, kid } }: ReadAssertion): Jwk[] {
  return keys
    .filter((key) => key.kty === typeOf(alg) && (key.alg === undefined || key.alg === alg))
    .filter((key) => kid === undefined || key.kid === undefined || key.kid === kid)
    .filter(isOfUsualLength)
    .slice(0, mostTried);
}

/** Whether one of the keys signed the assertion. */
export async function isSignedBy(keys: readonly Jwk[], assertion: string, alg: string): Promise<boolean> {
  for (const key of keys) {
    try {
      await compactVerify(assertion, await importedKey(key, alg), { algorithms: [alg] });
      return true;
    } catch (error) {
      // Another key may have signed it, and one that is no key at all signed nothing.
      if (!(error instanceof errors.JOSEError || error instanceof TypeError || error instanceof DOMException))
        throw error;
    }
  }
  return false;
}

function importedKey(key: Jwk, alg: string): Promise<Imported> {
  const ofKey = imported.get(key) ?? new Map<string, Promise<Imported>>();
  imported.set(key, ofKey);
  const known = ofKey.get(alg);
  if (known !== undefined) return known;
  // Members that say who may use it for what are checked here.
  const { kty, n, e, crv, x, y } = key;
  const made = importJWK({ kty, n, e, crv, x, y } as Parameters<typeof importJWK>[0], alg);
  ofKey.set(alg, made);
  return made;
}
