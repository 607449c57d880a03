import type { FastifyReply, FastifyRequest } from 'fastify';
import { OAuthError } from '@tessera/oauth';
import type { Interaction } from '@tessera/proto-gen/authorize';
import type { Gateway } from '../gateway.ts';
import { antiForgeryField, purpose } from './form.ts';
import { sendPageError } from './page.ts';

export interface Mismatch {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly gateway: Gateway;
  readonly browserId: string;
  readonly interaction: Interaction | undefined;
  /** The hidden field that says where the person goes on after signing out. */
  readonly going: { readonly name: 'continue' | 'interaction'; readonly value: string };
}

/** The contract's 400 for a session of another tenant; its page offers signing out and going on. */
export function sendMismatch(mismatch: Mismatch): FastifyReply {
  const { request, reply, gateway, browserId, interaction, going } = mismatch;
  const error = new OAuthError('invalid_request', 'The session in this browser belongs to another tenant.');
  return sendPageError(request, reply, gateway, error, {
    view: 'mismatch',
    title: 'You are signed in elsewhere',
    message: error.message,
    formTarget: 'client',
    tenant: { id: interaction?.tenantId ?? '', name: interaction?.tenantName ?? '' },
    data: {
      application: interaction?.applicationName ?? '',
      fields: [
        { name: antiForgeryField, value: gateway.antiForgery.token(browserId, purpose.signOut) },
        { name: going.name, value: going.value },
      ],
    },
  });
}
