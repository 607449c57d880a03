import { activateTracer, openTracer, type EndedSpan } from '@tessera/telemetry';
import { systemRandom } from '@tessera/kit';
import { onTestFinished } from 'vitest';

/**
 * Switches traces on until the test ends, for what is built from then on. Every span is in the list once it ended.
 * @param ratio share of the requests that are traced
 */
export async function recordTraces(ratio = 1): Promise<EndedSpan[]> {
  const spans: EndedSpan[] = [];
  const take = (span: EndedSpan): void => void spans.push(span);
  onTestFinished(activateTracer(await openTracer({ ratio, random: systemRandom, export: take })));
  return spans;
}
