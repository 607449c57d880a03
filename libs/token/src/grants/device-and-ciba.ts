import type { CallOptions, Client } from '@tessera/rpc';
import type {
  BackchannelAuthenticationService,
  DeviceAuthorizationService,
  PollResponse,
} from '@tessera/proto-gen/device';
import type { RedemptionKind } from '../store/store.ts';
import { refuse } from '../audit-reason.ts';
import { grantParameters, type Grant, type GrantParameter } from './grant.ts';
import { oneTimeRedemption, type OneTimeParts } from './one-time-grant.ts';

interface PollMessage {
  readonly secret: string;
  readonly clientId: string;
  readonly tenantId: string;
}

interface PolledGrant {
  readonly name: 'device_code' | 'ciba';
  readonly parameter: GrantParameter;
  readonly kind: RedemptionKind;
  readonly poll: (message: PollMessage, call: CallOptions) => Promise<PollResponse>;
  readonly permit?: NonNullable<Grant['permit']>;
}

/** RFC 8628 §3.4: the device asks until the person has decided. */
export function deviceCodeGrant(
  device: Client<typeof DeviceAuthorizationService>,
  parts: OneTimeParts,
): Grant {
  return polledGrant(parts, {
    name: 'device_code',
    parameter: 'device_code',
    kind: 'device_code',
    poll: (message, call) => device.pollDeviceAuthorization(message, call),
  });
}

/** CIBA Core §10.1: the client asks until the person has decided, or until it is told so (§10.2). */
export function cibaGrant(
  backchannel: Client<typeof BackchannelAuthenticationService>,
  parts: OneTimeParts,
): Grant {
  return polledGrant(parts, {
    name: 'ciba',
    parameter: 'auth_req_id',
    kind: 'auth_req_id',
    poll: (message, call) => backchannel.pollBackchannelAuthentication(message, call),
    permit({ application }) {
      if (application.ciba?.delivery !== 'push') return;
      // CIBA Core §11: its tokens are pushed.
      throw refuse('unauthorized_client', 'The application is pushed its tokens.', 'push_client');
    },
  });
}

/** One request of the client is one poll. Waiting, too fast, expired and refused come back as errors of the peer. */
function polledGrant(parts: OneTimeParts, { name, parameter, kind, poll, permit }: PolledGrant): Grant {
  return {
    name,
    parameters: [parameter],
    ...(permit !== undefined && { permit }),
    async redeem(exchange) {
      const { clientId, tenantId } = exchange.application;
      const secret = grantParameters[parameter](exchange.request);
      const { grant, secretHash } = await poll({ secret, clientId, tenantId }, exchange.call());
      if (grant === undefined) throw new Error('a poll was answered without a grant');
      const person = { ...grant, authTime: Number(grant.authTime), nonce: '' };
      return oneTimeRedemption(parts, exchange, { kind, hash: secretHash, person, failpoint: name });
    },
  };
}
