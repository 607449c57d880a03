import { rootCall } from '@tessera/rpc';
import { parseForm } from '@tessera/pages';
import { decisionOf } from '../pages/approve/decision.ts';
import type { Endpoint } from './endpoint.ts';

/**
 * `POST /backchannel_decision?token=...`: the address that a tenant's notification system is handed with a backchannel
 * request, for the person's decision. The token is all the authentication there is: it is made for one request.
 */
export const backchannelDecision: Endpoint = async ({ incoming, query, parameters }, gateway) => {
  const decisionToken = parseForm(query).get('token') ?? '';
  const decision = decisionOf(parameters.get('decision'));
  await gateway.peers.backchannel.decideByLink(
    { decisionToken, decision, ipAddress: incoming.ipAddress },
    rootCall(incoming.requestId),
  );
  return { message: 'The decision is recorded.' };
};
