import { invalidFields, type Handlers } from '@tessera/rpc';
import type { DeclaredStateService } from '@tessera/proto-gen/admin-declared_state';
import type { PlanService } from '@tessera/proto-gen/plan';
import { OtherKindsError } from '../apply/other-kinds-error.ts';
import { DeclaredStateError } from '../declared/declared-state-error.ts';
import { kindsIn, whole } from '../declared/part.ts';
import { notFound } from '../ground/refusals.ts';
import { ownerOf } from '../records/writers.ts';
import {
  applying,
  declaredDocuments,
  documentOf,
  refuseConflict,
  type DocumentDeps,
} from './declared-documents.ts';
import { describedPlan, etagOf, requireKinds } from './described-plan.ts';

/** The calls that apply, compare and write what an owner declares of one tenant. */
export function declaredStateCalls(deps: DocumentDeps): Handlers<typeof DeclaredStateService> {
  const documents = declaredDocuments(deps);
  return {
    async apply(request, context) {
      const [applied] = await documents.apply(request, context).catch(nameMistakes);
      const { tenantId: _, ...outcome } = applied ?? {};
      return outcome;
    },

    async diff(request, context) {
      const [found] = await documents.diff(request, context).catch(nameMistakes);
      const { tenantId: _, ...differences } = found ?? {};
      return differences;
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
      const plans = await planDeclaredState(deps, document, { signal, withoutPasswords: true })
        .catch(refuseConflict)
        .catch(orOtherKinds)
        .catch(nameMistakes);
      if (plans instanceof OtherKindsError) {
        yield { kinds: [...plans.kinds] };
        return;
      }
      for (const planned of plans) {
        const { changes, powers } = describedPlan(planned);
        const { declared, owner } = planned;
        const etag = etagOf(planned, deps.pepper);
        const about = { kinds: [...kindsIn([declared], document.part ?? whole)], owner, powers, etag };
        yield { ...about, changes: changes.slice(0, mostChanges) };
        for (let next = mostChanges; next < changes.length; next += mostChanges)
          yield { changes: changes.slice(next, next + mostChanges) };
      }
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
