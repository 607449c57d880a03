import type { FastifyReply } from 'fastify';
import type { PageContext } from './page-context.ts';
import type { AccountPath } from './paths.ts';
import { sendPage } from './send-page.ts';

/** A form that asks for the tenant to sign in at, where no client names it. */
export interface TenantForm {
  /** Where the form leads, with the tenant in the query. */
  readonly path: AccountPath | '/device' | '/approvals' | '/password' | '/password/forgot' | '/register';
  /** The purpose of the sign-in, as the end of a sentence. */
  readonly purpose: string;
  readonly lead: string;
  /** The tenant that was entered before; empty at first. */
  readonly typed: string;
  /** What is wrong with it (`tenantProblem`); empty at first. */
  readonly problem: string;
  /** Further hidden fields. */
  readonly fields: readonly { readonly name: string; readonly value: string }[];
}

/** Whether a text has the form of a tenant's identifier. */
export function isTenantId(text: string): boolean {
  return /^[a-z0-9][a-z0-9-]{0,62}$/.test(text);
}

/**
 * Why nobody signs in at a tenant that somebody named: empty if none was named, undefined if nothing is wrong with it,
 * or that cannot be found out. It says no more of tenants than the looks of their pages do.
 */
export async function tenantProblem(
  { request, gateway }: Pick<PageContext, 'request' | 'gateway'>,
  tenantId: string,
): Promise<string | undefined> {
  if (request.incoming.tenant?.tenantId === tenantId) return undefined;
  if (tenantId === '') return '';
  if (!isTenantId(tenantId)) return 'This is not a valid organization name.';
  return (await gateway.looks.find(tenantId)) === 'unknown'
    ? 'There is no organization with this name. Check the name, or ask your administrator.'
    : undefined;
}

export function sendTenantForm({ request, reply, gateway }: PageContext, form: TenantForm): FastifyReply {
  const { purpose, problem, ...data } = form;
  return sendPage(request, reply, gateway, {
    template: 'tenant-form',
    title: 'Your organization',
    message: `Enter your organization to sign in and ${purpose}.`,
    formTarget: 'own',
    data: { ...data, problem: problem === '' ? undefined : problem },
  });
}
