import { metrics } from '@tessera/telemetry';
import { grantTypes, OAuthError } from '@tessera/oauth';

const exchanges = metrics.counter({
  name: 'tessera_exchanges_total',
  help: 'Requests for tokens by grant, with their outcome: issued, or the error code.',
  labels: ['grant', 'outcome'],
});

const names: ReadonlySet<string> = new Set(grantTypes.map(({ name }) => name));

/** Counts one request for tokens. */
export async function measured<T>(grantType: string, exchange: Promise<T>): Promise<T> {
  const grant = names.has(grantType) ? grantType : '(unknown)';
  try {
    const tokens = await exchange;
    exchanges.with(grant, 'issued').add();
    return tokens;
  } catch (error) {
    exchanges.with(grant, error instanceof OAuthError ? error.code : 'internal').add();
    throw error;
  }
}
