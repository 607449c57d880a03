import type { FastifyReply } from 'fastify';
import type { PageContext } from '../page-context.ts';
import { sendPage } from '../page.ts';

/** A form that asks for the tenant to sign in at, where no client names it. */
export interface TenantForm {
  /** Where the form leads, with the tenant in the query. */
  readonly path: '/account' | '/device' | '/approvals' | '/password' | '/password/forgot' | '/register';
  /** The purpose of the sign-in, as the end of a sentence. */
  readonly purpose: string;
  readonly lead: string;
  /** The tenant that was entered before and is not valid; empty at first. */
  readonly typed: string;
  /** Further hidden fields. */
  readonly fields: readonly { readonly name: string; readonly value: string }[];
}

/** Whether a text has the form of a tenant's identifier. */
export function isTenantId(text: string): boolean {
  return /^[a-z0-9][a-z0-9-]{0,62}$/.test(text);
}

export function sendTenantForm({ request, reply, gateway }: PageContext, form: TenantForm): FastifyReply {
  const { purpose, typed, ...data } = form;
  return sendPage(request, reply, gateway, {
    template: 'tenant-form',
    title: 'Your organization',
    message: `Enter your organization to sign in and ${purpose}.`,
    formTarget: 'own',
    data: { ...data, typed, problem: typed === '' ? undefined : 'This is not a valid organization name.' },
  });
}
