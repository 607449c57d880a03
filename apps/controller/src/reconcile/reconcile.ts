import type { DiffDeclaredStateResponse } from '@tessera/admin-client';
import type { Logger, RepeatedWarnings } from '@tessera/telemetry';
import type { Administration, Declaration } from '../administration/administration-api.ts';
import { refusalOf } from '../administration/refused-by-api.ts';
import type { Cluster, Told } from '../cluster/cluster.ts';
import { confirmation, finalizer, type Key, type Status, type TesseraObject } from '../objects.ts';
import { clientIdOf, declarationOf, NotOfThisNamespace, ownerOf, type Surroundings } from './declare.ts';
import {
  describeImpact,
  endedBy,
  isNews,
  refused,
  shownImpact,
  statusAfter,
  type Outcome,
} from './outcome.ts';

export interface ReconcileDeps {
  readonly cluster: Cluster;
  readonly administration: Administration;
  /** The tenant of each namespace that has one. */
  readonly tenants: ReadonlyMap<string, string>;
  /** What a deletion may end without being confirmed. */
  readonly deletionLimit: number;
  readonly surroundings: Omit<Surroundings, 'clusterIssuer'>;
  readonly log: Pick<Logger, 'info'>;
  readonly warnings: RepeatedWarnings;
  /** A record changed: what was refused before may be right now. */
  readonly changed: () => void;
}

/** `refused`: it waits for somebody, and is tried again later and later. `failed`: it is tried again soon. */
export type Reconciled = 'done' | 'refused' | 'failed';

/**
 * Makes the record of an object what the object declares, and says so in its status. It reads the object anew, so that
 * a process that no longer hears of changes writes nothing, and it may run in two processes at once.
 */
export async function reconcile(deps: ReconcileDeps, key: Key): Promise<Reconciled> {
  const object = await deps.cluster.read(key);
  if (object === undefined) return 'done';
  return object.metadata.deletionTimestamp === undefined ? declare(deps, object) : end(deps, object);
}

/** Where the record is to be. Absent: nothing may be written, as the outcome says. */
function placeOf({ tenants }: ReconcileDeps, { metadata, status }: TesseraObject) {
  const { namespace } = metadata;
  const tenantId = tenants.get(namespace);
  if (tenantId === undefined)
    return { outcome: refused('NamespaceNotMapped', `No tenant is that of the namespace ${namespace}.`) };
  if (status?.tenantId !== undefined && status.tenantId !== tenantId)
    return {
      outcome: refused(
        'TenantChanged',
        `Its record is in the tenant ${status.tenantId}, and the namespace is now that of ${tenantId}. Delete the object while the namespace is that of ${status.tenantId}, and create it again.`,
      ),
    };
  return { tenantId };
}

async function declare(deps: ReconcileDeps, asRead: TesseraObject): Promise<Reconciled> {
  const { cluster, administration, log } = deps;
  const place = placeOf(deps, asRead);
  if (place.tenantId === undefined) return report(deps, asRead, place.outcome, 'refused');
  const { tenantId } = place;
  let declaration: Declaration;
  try {
    const clusterIssuer = await cluster.issuer();
    declaration = declarationOf(asRead, tenantId, { ...deps.surroundings, clusterIssuer });
  } catch (error) {
    if (!(error instanceof NotOfThisNamespace)) throw error;
    return report(deps, asRead, refused('NotAllowed', error.message), 'refused');
  }
  const object = await held(deps, asRead, tenantId);
  try {
    const compared = await administration.compare(declaration);
    const isChange = compared.differences.length > 0;
    if (isChange) {
      await administration.apply(declaration, compared.etag);
      log.info({ owner: declaration.owner, tenantId }, 'record written');
      deps.changed();
    }
    const facts = await factsOf(deps, object, tenantId, isChange ? compared : undefined);
    return await report(deps, object, written(facts), 'done');
  } catch (error) {
    return reportRefusal(deps, object, error);
  }
}

/** The object as it is once it is held back, and says where its record is: both before the first write. */
async function held(
  { cluster }: ReconcileDeps,
  object: TesseraObject,
  tenantId: string,
): Promise<TesseraObject> {
  const { finalizers = [] } = object.metadata;
  const withFinalizer = finalizers.includes(finalizer)
    ? object
    : await cluster.patch(object, 'metadata', { finalizers: [...finalizers, finalizer] });
  if (object.status?.tenantId === tenantId) return withFinalizer;
  return cluster.patch(withFinalizer, 'status', { tenantId });
}

function written(facts: Status): Outcome {
  return {
    accepted: { status: 'True', reason: 'Accepted', message: 'It may be declared here.' },
    ready: { status: 'True', reason: 'Written', message: 'The record is as it is declared.' },
    facts,
  };
}

async function factsOf(
  { administration }: ReconcileDeps,
  object: TesseraObject,
  tenantId: string,
  change: DiffDeclaredStateResponse | undefined,
): Promise<Status> {
  const { kind, spec } = object;
  return {
    tenantId,
    issuer: await administration.issuerOf(tenantId),
    ...(kind === 'TesseraApplication' && { clientId: clientIdOf(object) }),
    ...(kind === 'TesseraResource' && spec.audience !== undefined && { audience: spec.audience }),
    ...(change && { lastChange: { ...shownImpact(change.impact), at: new Date().toISOString() } }),
  };
}

/** Ends the record of an object, then lets the object go. */
async function end(deps: ReconcileDeps, object: TesseraObject): Promise<Reconciled> {
  const { cluster, administration, log } = deps;
  const { finalizers = [], annotations = {} } = object.metadata;
  if (!finalizers.includes(finalizer)) return 'done';
  const place = placeOf(deps, object);
  if (place.tenantId === undefined) return report(deps, object, place.outcome, 'refused');
  const { tenantId } = place;
  const owner = ownerOf(object, deps.surroundings.cluster);
  const nothing: Declaration = { kind: object.kind, tenantId, owner };
  try {
    const { differences, impact, etag } = await administration.compare(nothing);
    const ends = shownImpact(impact);
    const isConfirmed = annotations[confirmation] === 'true';
    if (endedBy(ends) > deps.deletionLimit && !isConfirmed) {
      const message = `Its deletion would end ${describeImpact(ends)}. Confirm it with the annotation ${confirmation}=true.`;
      return await report(deps, object, refused('DeletionHeld', message), 'refused');
    }
    if (differences.length > 0) {
      await administration.apply(nothing, etag);
      log.info({ owner, tenantId }, 'record ended');
      deps.changed();
      const message = `The record is gone. Its deletion ended ${describeImpact(ends)}.`;
      await tell(deps, object, { type: 'Normal', reason: 'Ended', message });
    }
  } catch (error) {
    return reportRefusal(deps, object, error);
  }
  await cluster.patch(object, 'metadata', { finalizers: finalizers.filter((one) => one !== finalizer) });
  return 'done';
}

async function reportRefusal(
  deps: ReconcileDeps,
  object: TesseraObject,
  error: unknown,
): Promise<Reconciled> {
  const { reason, message } = refusalOf(error);
  if (reason === 'ChangedMeanwhile') return 'failed';
  if (reason !== 'ServerUnavailable') return report(deps, object, refused(reason, message), 'refused');
  deps.warnings.warn('administration', { err: error }, 'the administration does not answer');
  // What it says of the record as it was written is still so.
  const { observedGeneration } = object.status ?? {};
  if (observedGeneration === object.metadata.generation && object.metadata.deletionTimestamp === undefined)
    return 'failed';
  const unknown = 'The administration of Tessera does not answer, or does not let the controller in.';
  const said = { status: 'Unknown', reason, message: unknown } as const;
  return report(deps, object, { accepted: said, ready: said }, 'failed');
}

/** Says in status and events what became of an object. */
async function report(
  deps: ReconcileDeps,
  object: TesseraObject,
  outcome: Outcome,
  result: Reconciled,
): Promise<Reconciled> {
  const status = statusAfter(object, outcome, new Date());
  if (status === undefined) return result;
  await deps.cluster.patch(object, 'status', status);
  const { status: isReady, reason, message } = outcome.ready;
  if (isNews(object, outcome) || outcome.facts?.lastChange !== undefined)
    await tell(deps, object, { type: isReady === 'True' ? 'Normal' : 'Warning', reason, message });
  return result;
}

/** In a namespace that is being deleted nothing can be created, and nothing waits for an event. */
async function tell({ cluster, warnings }: ReconcileDeps, object: TesseraObject, told: Told): Promise<void> {
  await cluster
    .tell(object, told)
    .catch((err: unknown) => warnings.warn('event', { err }, 'an event cannot be written'));
}
