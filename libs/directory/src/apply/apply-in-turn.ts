import { OAuthError, outcomeUnknown } from '@tessera/oauth';
import { OAuthErrorDetailSchema } from '@tessera/proto-gen/error';
import { Code, ConnectError, operatorRemedy } from '@tessera/rpc/caller';
import type { TenantApart } from '../declared/tenants-apart.ts';
import { trustTaken } from '../applications/trusts.ts';
import { clientIdAndAudience, sharedAudience, takenElsewhere } from '../resources/checks.ts';

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
  turns: readonly TenantApart[],
  apply: (turn: TenantApart) => Promise<T>,
): Promise<readonly T[]> {
  const outcomes = new Map<string, T>();
  for (let waiting = turns; waiting.length > 0;) {
    const refused: { readonly turn: TenantApart; readonly error: ConnectError }[] = [];
    for (const [place, turn] of waiting.entries()) {
      try {
        outcomes.set(turn.tenantId, await apply(turn));
      } catch (error) {
        const failed = [...refused.map((each) => each.turn), turn];
        const untried = waiting.slice(place + 1);
        const soFar = tried({ failed, untried }, outcomes);
        if (operatorRemedy(error) !== undefined) throw withTenantsInRemedy(error, soFar);
        if (!(error instanceof ConnectError)) throw afterApplying(soFar, error);
        if (!isTaken(error)) throw withTenants(error, turn.placed(error.rawMessage), soFar);
        refused.push({ turn, error });
      }
    }
    const failed = refused.map(({ turn }) => turn);
    const [first] = refused;
    if (first !== undefined && refused.length === waiting.length) {
      const reasons = refused.map(({ error, turn }) => turn.placed(error.rawMessage));
      throw withTenants(first.error, reasons.join('\n'), tried({ failed, untried: [] }, outcomes));
    }
    waiting = failed;
  }
  return turns.flatMap(({ tenantId }) => outcomes.get(tenantId) ?? []);
}

function tried(
  turns: { readonly failed: readonly TenantApart[]; readonly untried: readonly TenantApart[] },
  outcomes: ReadonlyMap<string, unknown>,
): Tried {
  const idsOf = (some: readonly TenantApart[]) => some.map(({ tenantId }) => tenantId);
  return { failed: idsOf(turns.failed), untried: idsOf(turns.untried), applied: [...outcomes.keys()] };
}

/** An error that says that nothing was changed, once something was. */
function afterApplying({ applied }: Tried, error: unknown): unknown {
  const isUnavailable = error instanceof OAuthError && error.code === 'temporarily_unavailable';
  return isUnavailable && applied.length > 0 ? outcomeUnknown(error) : error;
}

/** Whether a tenant is refused because of what another one has, which may be one that waits for its turn. */
function isTaken({ code, rawMessage }: ConnectError): boolean {
  const reasons = [takenElsewhere, sharedAudience, clientIdAndAudience, trustTaken];
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
