import { notUnderstood } from '@tessera/rpc';
import type { CallOptions, Client } from '@tessera/rpc';
import type {
  BackchannelAuthenticationService,
  DeviceAuthorizationService,
  PollResponse,
} from '@tessera/proto-gen/device';
import type { RedemptionKind } from '../store/store.ts';
import { grantParameters, type Grant, type GrantParameter } from '../pipeline/grant-table.ts';
import { oneTimeRedemption, type OneTimeDeps } from '../pipeline/one-time-redemption.ts';

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
}

/** RFC 8628 §3.4: the device polls until the user has decided. */
export function deviceCodeGrant(device: Client<typeof DeviceAuthorizationService>, deps: OneTimeDeps): Grant {
  return polledGrant(deps, {
    name: 'device_code',
    parameter: 'device_code',
    kind: 'device_code',
    poll: (message, call) => device.pollDeviceAuthorization(message, call),
  });
}

/** CIBA Core §10.1: the client polls until the user has decided, or until it is notified (§10.2). */
export function cibaGrant(
  backchannel: Client<typeof BackchannelAuthenticationService>,
  deps: OneTimeDeps,
): Grant {
  return polledGrant(deps, {
    name: 'ciba',
    parameter: 'auth_req_id',
    kind: 'auth_req_id',
    poll: (message, call) => backchannel.pollBackchannelAuthentication(message, call),
  });
}

/**
 * Each token request is one poll. `device` throws `authorization_pending`, `slow_down`, `expired_token` and
 * `access_denied`.
 */
function polledGrant(deps: OneTimeDeps, { name, parameter, kind, poll }: PolledGrant): Grant {
  return {
    name,
    parameters: [parameter],
    async redeem(exchange) {
      const { clientId, tenantId } = exchange.application;
      const secret = grantParameters[parameter](exchange.request);
      const { secretHash, userGrant } = await poll({ secret, clientId, tenantId }, exchange.call());
      if (userGrant === undefined) throw notUnderstood('a poll response without a grant');
      return oneTimeRedemption(deps, exchange, { kind, hash: secretHash, userGrant, failpoint: name });
    },
  };
}
