import {
  type Answer,
  type ApprovalFlow,
  type Dialect,
  type HttpClient,
  pollRequest,
  postToken,
  successful,
} from '@tessera/test-client';
import { secretOf } from './flows.ts';
import { people } from './declared-state.ts';

export interface DeviceStart {
  readonly deviceCode: string;
  readonly userCode: string;
  readonly verificationUriComplete: string;
  readonly expiresIn: number;
  readonly interval: number;
}

export async function askDevice(
  http: HttpClient,
  form: Readonly<Record<string, string>> = {},
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  return http.ask('POST', '/device_authorization', {
    headers,
    form: { client_id: 'acme-tv', scope: 'openid profile offline_access orders.read', ...form },
  });
}

export async function startDevice(
  http: HttpClient,
  form: Readonly<Record<string, string>> = {},
): Promise<DeviceStart> {
  const body = successful(await askDevice(http, form)).json();
  return {
    deviceCode: String(body['device_code']),
    userCode: String(body['user_code']),
    verificationUriComplete: String(body['verification_uri_complete']),
    expiresIn: Number(body['expires_in']),
    interval: Number(body['interval']),
  };
}

export async function askCiba(
  http: HttpClient,
  form: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const clientId = form['client_id'] ?? 'acme-desk';
  const secret = secretOf[clientId];
  return http.ask('POST', '/backchannel_authentication', {
    form: {
      client_id: clientId,
      scope: 'openid profile offline_access orders.read',
      login_hint: people.ada.username,
      ...(secret === undefined ? {} : { client_secret: secret }),
      ...form,
    },
  });
}

/** Resolves with the auth_req_id. */
export async function startCiba(
  http: HttpClient,
  form: Readonly<Record<string, string>> = {},
): Promise<string> {
  return String(successful(await askCiba(http, form)).json()['auth_req_id']);
}

/** One poll of a client. */
export async function poll(
  http: HttpClient,
  flow: ApprovalFlow,
  secret: string,
  clientId: string,
  dialect: Dialect = 'contract',
  overrides: Readonly<Record<string, string | undefined>> = {},
): Promise<Answer> {
  return postToken(http, dialect, {
    ...pollRequest(flow, dialect, secret),
    clientId,
    clientSecret: secretOf[clientId],
    ...overrides,
  });
}
