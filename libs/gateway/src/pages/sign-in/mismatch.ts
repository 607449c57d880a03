import type { FastifyReply, FastifyRequest } from 'fastify';
import { OAuthError } from '@tessera/oauth';
import type { Interaction } from '@tessera/proto-gen/authorize';
import { formFields, type FormTarget } from '@tessera/pages';
import type { Gateway } from '../../gateway.ts';
import { purpose } from '../form.ts';
import { sendPageError } from '../send-page.ts';

export interface Mismatch {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly gateway: Gateway;
  readonly browserId: string;
  /** The pending sign-in. If only the tenant is known, `tenantId` is set instead. */
  readonly interaction?: Interaction | undefined;
  readonly tenantId?: string;
  /** Where the form may redirect to. */
  readonly formTarget: FormTarget;
  /** Hidden fields that say where to continue after signing out. */
  readonly resume: readonly { readonly name: string; readonly value: string }[];
}

/** The contract's 400 for a session of another tenant; its page offers to sign out and continue. */
export function sendMismatch(mismatch: Mismatch): FastifyReply {
  const { request, reply, gateway, browserId, interaction, formTarget, resume } = mismatch;
  const error = new OAuthError('invalid_request', 'The session in this browser belongs to another tenant.');
  return sendPageError(request, reply, gateway, error, {
    template: 'mismatch',
    title: 'You are signed in to another organization',
    message: error.message,
    formTarget,
    tenant: { id: interaction?.tenantId ?? mismatch.tenantId ?? '', name: interaction?.tenantName ?? '' },
    ...(interaction === undefined || interaction.uiLocales === ''
      ? {}
      : { uiLocales: interaction.uiLocales }),
    data: {
      application: interaction?.applicationName ?? '',
      fields: formFields(browserId, purpose.signOut, resume),
    },
  });
}
