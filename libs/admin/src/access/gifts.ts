import { adminScopes } from '@tessera/oauth';
import { Code, ConnectError, type Principal } from '@tessera/rpc';
import type { Gift } from './gift.ts';
import { mayWriteAs, writesAsAnybody } from './owners.ts';
import type { ServiceRule } from './what-is-given.ts';

/** A gift, with the beginning of its name in messages. */
export interface NamedGift {
  readonly gift: Gift;
  readonly of: string;
  /** Of the record that gives it. */
  readonly owner: string;
}

/** A record as it is says of each field that is empty that there is none. */
export const said = () => true;

export const isAttribute = ({ attribute }: Gift): boolean => attribute !== undefined;

const nameOf = ({ field, what, from = '', scopes, owner = '', attribute }: Gift): string =>
  JSON.stringify([field, what, from, scopes, owner, attribute]);

/**
 * What a change gives: the powers of who is changed, what is new, and attributes that are taken away.
 * @param had what the record as it is gives; undefined for a new one
 * @param has what it is to give
 * @param isTaken whether a gift that it is not to give any more is taken away, and not just unsaid
 */
export function givenBy(
  had: readonly Gift[] | undefined,
  has: readonly Gift[],
  isTaken: (gift: Gift) => boolean,
): Gift[] {
  if (had === undefined) return has.filter(({ again }) => again !== true);
  const known = new Set(had.map(nameOf));
  return [
    ...had.filter(({ administers }) => administers === true),
    ...has.filter((gift) => !known.has(nameOf(gift))),
    ...had.filter(
      (gift) =>
        isAttribute(gift) &&
        isTaken(gift) &&
        !has.some(({ field, what }) => field === gift.field && what === gift.what),
    ),
  ];
}

/** Whether an access token grants everything in every tenant. */
export function holdsEveryScope({
  scopes = [],
  everyTenant = false,
}: Pick<Principal, 'scopes' | 'everyTenant'>): boolean {
  return everyTenant && [...adminScopes.keys()].every((scope) => scopes.includes(scope));
}

/** Whether somebody can give nothing that they do not hold. */
export function holdsEverything(principal: Principal): boolean {
  return holdsEveryScope(principal) && writesAsAnybody(principal);
}

export function holds(principal: Principal, { scopes, everyTenant, owner }: Gift): boolean {
  const { scopes: held = [], everyTenant: reaches = false } = principal;
  return (
    scopes.every((scope) => held.includes(scope)) &&
    (everyTenant !== true || reaches) &&
    (owner === undefined || mayWriteAs(principal, owner))
  );
}

/** Throws PermissionDenied for gifts that somebody does not hold. */
export function refuseUnheld(unheld: readonly NamedGift[], principal: Principal): void {
  if (unheld.length === 0) return;
  const { scopes = [], everyTenant = false } = principal;
  const reasons = unheld.map(({ of, gift, owner }) => {
    if (gift.assigns === 'scope' || gift.assigns === 'audience') {
      const to = JSON.stringify(owner);
      const assigned =
        gift.assigns === 'scope'
          ? `, or that its API lets the owner ${to} assign it by assignableBy: [${to}], beside others that it names (tessera resource update <audience> --assignable-by ${to})`
          : '';
      return `${of}${gift.field}: ${gift.what} needs an access token with ${gift.scopes.join(', ')} for the owner of its API${assigned}`;
    }
    const lacking = gift.scopes.filter((scope) => !scopes.includes(scope));
    const needs = [
      ...(lacking.length > 0 ? [`an access token with ${lacking.join(', ')}`] : []),
      ...(gift.everyTenant === true && !everyTenant ? ['an access token of the operator tenant'] : []),
      ...(gift.owner === undefined || mayWriteAs(principal, gift.owner)
        ? []
        : [`an application whose \`owners\` have ${gift.owner}`]),
    ];
    return `${of}${gift.field}: ${gift.what} needs ${needs.join(' and ')}`;
  });
  const sentence = 'Nobody gives what they do not hold, or changes who holds more';
  throw new ConnectError(`${sentence}. ${reasons.join('; ')}.`, Code.PermissionDenied);
}

/**
 * Administrators of the operator tenant keep each other from administering only if they hold everything.
 * @param method of the service of tenants
 */
export function refuseToEndAdministration(
  rule: Pick<ServiceRule, 'endsAdministration'>,
  method: string,
  of: { readonly tenantId: unknown; readonly record: unknown },
  { everyTenant = false, tenantId, scopes = [] }: Principal,
): void {
  if (!everyTenant || of.tenantId !== tenantId) return;
  const doing = rule.endsAdministration?.(method, (of.record ?? {}) as never);
  const lacking = [...adminScopes.keys()].filter((scope) => !scopes.includes(scope));
  if (doing === undefined || lacking.length === 0) return;
  throw new ConnectError(
    `${doing} ${tenantId} would end the administration of every tenant, as it is the operator tenant: it needs an access token with ${lacking.join(', ')} too.`,
    Code.PermissionDenied,
  );
}
