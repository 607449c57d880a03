import { eventBase } from '@tessera/audit';
import { Code, ConnectError, invalidFields, type Handlers } from '@tessera/rpc';
import type { DeclaredStateService } from '@tessera/proto-gen/admin-declared_state';
import type { PlanService } from '@tessera/proto-gen/plan';
import { administrationOf } from '../apply/guards/administration-guard.ts';
import { namesakesOf } from '../apply/guards/namesakes.ts';
import { OtherKindsError } from '../apply/guards/other-kinds-error.ts';
import { differencesOf } from '../apply/guards/plan-differences.ts';
import { DeclaredStateError } from '../declared/declared-state-error.ts';
import { kindsIn, whole } from '../declared/part.ts';
import { notFound } from '../ground/refusals.ts';
import { impactOf } from '../plans/impact.ts';
import { withoutWayIn } from '../plans/without-way-in.ts';
import { ownerOf } from '../records/writers.ts';
import { applying, documentOf, refuseConflict, type DocumentDeps } from './declared-documents.ts';
import { describedPlan, etagOf, requireKinds } from './described-plan.ts';

/** The calls that apply, compare and write what an owner declares of one tenant. */
export function declaredStateCalls(deps: DocumentDeps): Handlers<typeof DeclaredStateService> {
  return {
    async apply({ allowDelete, allowAdministration, etag, ...asked }, context) {
      await deps.pepperCheck.require();
      const { applyDeclaredState } = await applying();
      const applied = await applyDeclaredState(deps, documentOf(asked), {
        base: eventBase(context),
        signal: context.signal,
        allowDelete,
        allowAdministration,
        judge(planned) {
          if (etag === '' || etag === etagOf(planned, deps.pepper)) return;
          throw new ConnectError(
            'It would change something else than was compared. Compare again.',
            Code.Aborted,
          );
        },
      })
        .catch(refuseConflict)
        .catch(nameMistakes);
      const { created, updated, deleted, newPeople } = applied;
      return {
        created,
        updated,
        deleted,
        unchanged: created + updated + deleted === 0,
        newPeople: [...newPeople],
      };
    },

    async diff({ deletionsOnly, impact, ...asked }, { signal }) {
      await deps.pepperCheck.look();
      const { planDeclaredState } = await applying();
      const options = { signal, withoutPasswords: deletionsOnly };
      const planned = await planDeclaredState(deps, documentOf(asked), options)
        .catch(refuseConflict)
        .catch(nameMistakes);
      const { plan } = planned;
      return {
        differences: deletionsOnly
          ? differencesOf(plan).filter(({ change }) => change === 'deleted')
          : differencesOf(plan, await namesakesOf(deps.database, plan)),
        withoutWayIn: withoutWayIn(plan).map(({ username }) => username),
        administration: administrationOf(plan),
        ...(impact && !deletionsOnly && { impact: impactOf(plan) }),
        etag: deletionsOnly ? '' : etagOf(planned, deps.pepper),
      };
    },

    async get({ tenantId, owner, kinds }) {
      const of = { owner: ownerOf(owner), kinds: requireKinds(kinds) };
      const state = await deps.store.tenantState(tenantId);
      if (state === undefined) throw notFound('The tenant');
      const { writeDocument } = await import('../declared/write.ts');
      return { document: writeDocument(state, of) };
    },
  };
}

/** Changes in one message: with a thousand people it is far from the largest one. */
const mostChanges = 1000;

/** The calls by which the administration API learns what a document would do. */
export function planCalls(deps: DocumentDeps): Handlers<typeof PlanService> {
  return {
    async *describePlan({ kinds, ...asked }, { signal }) {
      const document = { ...documentOf(asked), kinds: new Set(kinds) };
      const { planDeclaredState } = await applying();
      const planned = await planDeclaredState(deps, document, { signal, withoutPasswords: true })
        .catch(refuseConflict)
        .catch(orOtherKinds)
        .catch(nameMistakes);
      if (planned instanceof OtherKindsError) {
        yield { kinds: [...planned.kinds] };
        return;
      }
      const { changes, powers } = describedPlan(planned);
      const { declared, owner } = planned;
      const etag = etagOf(planned, deps.pepper);
      const about = { kinds: [...kindsIn([declared], document.part ?? whole)], owner, powers, etag };
      yield { ...about, changes: changes.slice(0, mostChanges) };
      for (let next = mostChanges; next < changes.length; next += mostChanges)
        yield { changes: changes.slice(next, next + mostChanges) };
    },
  };
}

/** Other kinds are no failure of the call: who asks it decides what they mean. */
function orOtherKinds(error: unknown): OtherKindsError {
  if (error instanceof OtherKindsError) return error;
  throw error;
}

/** Mistakes that an answer has one by one: `invalidFields` names twenty. */
const mostApart = 19;

/**
 * Mistakes in the document are returned to the caller as those of its field; the last one has all the others, line by
 * line.
 */
function nameMistakes(error: unknown): never {
  if (!(error instanceof DeclaredStateError)) throw error;
  const lines = error.message.split('\n');
  const others = lines.slice(mostApart).join('\n');
  const named = [...lines.slice(0, mostApart), ...(others === '' ? [] : [others])];
  throw invalidFields(named.map((description) => ({ field: 'document', description })));
}
