import { OAuthError } from '@tessera/oauth';
import { OAuthErrorDetailSchema } from '@tessera/proto-gen/error';
import { Code, ConnectError, operatorRemedy } from '@tessera/rpc/caller';
import { documentsOfTenants } from '../declared/documents-of-tenants.ts';
import type { DeclaredTenant } from '../declared/schema.ts';
import { clientIdAndAudience, sharedAudience, takenElsewhere } from '../resources/checks.ts';

/** A tenant of a file of several. */
export interface Turn {
  readonly tenantId: string;
  /** Declares this tenant alone. */
  readonly document: string;
}

/** One after the other; undefined for a file that has to be applied at once. */
export function turnsOf(
  document: string,
  fileName: string,
  tenants: readonly DeclaredTenant[],
): readonly Turn[] | undefined {
  const only = onlyTenantIn(tenants);
  if (only !== undefined) return [{ tenantId: only, document }];
  const documents = documentsOfTenants(document, fileName);
  if (tenants.length === 0 || documents?.length !== tenants.length) return undefined;
  return tenants.map(({ id: tenantId }, place) => ({ tenantId, document: documents[place] ?? '' }));
}

/** The tenant of a file that declares one alone. */
export function onlyTenantIn(tenants: readonly DeclaredTenant[]): string | undefined {
  const [only, ...others] = new Set(tenants.map(({ id }) => id));
  return others.length === 0 ? only : undefined;
}

/** What of a file was tried, by tenant. */
interface Tried {
  readonly failed: readonly string[];
  readonly applied: readonly string[];
  readonly untried: readonly string[];
}

/**
 * Applies tenants one after the other, and returns the outcomes in their order; one that claims what a later one gives
 * up waits for it. Throws the ConnectError of the tenant that fails, with which one that is, what was applied before
 * and what was not tried; an error that an operator has to mend says so once something was applied.
 */
export async function applyInTurn<T>(
  turns: readonly Turn[],
  apply: (turn: Turn) => Promise<T>,
): Promise<readonly T[]> {
  const outcomes = new Map<string, T>();
  const reasonOf = ({ rawMessage }: ConnectError, turn: Turn): string =>
    rawMessage.replaceAll('tenants[0]', `tenants[${turns.indexOf(turn)}]`);
  for (let waiting = turns; waiting.length > 0;) {
    const refused: { readonly turn: Turn; readonly error: ConnectError }[] = [];
    for (const [place, turn] of waiting.entries()) {
      try {
        outcomes.set(turn.tenantId, await apply(turn));
      } catch (error) {
        const failed = [...refused.map((each) => each.turn), turn];
        const untried = waiting.slice(place + 1);
        const soFar = tried({ failed, untried }, outcomes);
        if (operatorRemedy(error) !== undefined) throw withTenantsInRemedy(error, soFar);
        if (!(error instanceof ConnectError)) throw error;
        if (!isTaken(error)) throw withTenants(error, reasonOf(error, turn), soFar);
        refused.push({ turn, error });
      }
    }
    const failed = refused.map(({ turn }) => turn);
    const [first] = refused;
    if (first !== undefined && refused.length === waiting.length) {
      const reasons = refused.map(({ error, turn }) => reasonOf(error, turn));
      throw withTenants(first.error, reasons.join('\n'), tried({ failed, untried: [] }, outcomes));
    }
    waiting = failed;
  }
  return turns.flatMap(({ tenantId }) => outcomes.get(tenantId) ?? []);
}

function tried(
  turns: { readonly failed: readonly Turn[]; readonly untried: readonly Turn[] },
  outcomes: ReadonlyMap<string, unknown>,
): Tried {
  const idsOf = (some: readonly Turn[]) => some.map(({ tenantId }) => tenantId);
  return { failed: idsOf(turns.failed), untried: idsOf(turns.untried), applied: [...outcomes.keys()] };
}

/** Whether a tenant is refused because of what another one has, which may be one that waits for its turn. */
function isTaken({ code, rawMessage }: ConnectError): boolean {
  const reasons = [takenElsewhere, sharedAudience, clientIdAndAudience];
  return code === Code.FailedPrecondition && reasons.some((reason) => rawMessage.includes(reason));
}

function withTenants({ code, metadata, cause }: ConnectError, why: string, tenants: Tried): ConnectError {
  const names = tenants.failed.join(', ');
  const reason = why.replace(/^Nothing was applied/, `Nothing of ${names} was applied`);
  return new ConnectError(`${reason}\n${sentenceOf(tenants)}.`, code, metadata, undefined, cause);
}

/** What an operator has to do is all that is shown of such an error: it names the tenants once one was applied. */
function withTenantsInRemedy(error: unknown, tenants: Tried): unknown {
  if (tenants.applied.length === 0) return error;
  const reason = `${operatorRemedy(error)}. ${sentenceOf(tenants)}`;
  if (error instanceof OAuthError) return error.withRefusal({ ...error.refusal, reason });
  if (!(error instanceof ConnectError)) return error;
  const { rawMessage, code, metadata, cause } = error;
  const details = error
    .findDetails(OAuthErrorDetailSchema)
    .map((detail) => ({ desc: OAuthErrorDetailSchema, value: { ...detail, refusedReason: reason } }));
  return new ConnectError(rawMessage, code, metadata, details, cause);
}

/** Without the last full stop. */
function sentenceOf({ failed, applied, untried }: Tried): string {
  return [
    `Failed: ${failed.join(', ')}`,
    ...(applied.length > 0 ? [`Applied before: ${applied.join(', ')}`] : []),
    ...(untried.length > 0 ? [`Not tried: ${untried.join(', ')}`] : []),
  ].join('. ');
}
