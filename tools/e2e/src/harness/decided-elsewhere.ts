import { secrets } from './declared-names.ts';

export interface DecidedElsewhere {
  readonly tvStatus?: 'active' | 'disabled';
  readonly deskStatus?: 'active' | 'disabled';
  /** Where the requests of `acme-alarm` are announced. */
  readonly webhookUrl?: string;
  /** Notification endpoint of `acme-pinged`. */
  readonly notificationEndpoint?: string;
}

/** Applications of `acme` that use the device flow or CIBA, as YAML. */
export function decidedElsewhere(options: DecidedElsewhere): string {
  const { tvStatus, deskStatus, webhookUrl } = options;
  const notificationEndpoint = options.notificationEndpoint ?? 'https://notify.acme.example/';
  return `
      - clientId: acme-tv
        name: Acme TV
        type: public
        status: ${tvStatus ?? 'active'}
        grantTypes: [device_code, refresh_token]
        scopes: [openid, profile, email, offline_access, orders.read]
      - clientId: acme-tv-brief
        name: Acme TV with a short lifetime
        type: public
        grantTypes: [device_code]
        scopes: [openid]
        lifetimes: {authorizationRequest: 1s}
      - clientId: acme-box
        name: Acme Box
        type: confidential
        secrets: [{value: "${secrets.box}"}]
        grantTypes: [device_code, refresh_token]
        scopes: [openid, offline_access, orders.read]
      - clientId: acme-desk
        name: Acme Service Desk
        type: confidential
        status: ${deskStatus ?? 'active'}
        secrets: [{value: "${secrets.desk}"}]
        grantTypes: [ciba, refresh_token]
        scopes: [openid, profile, offline_access, orders.read]
        ciba: {approval: page}
      - clientId: acme-till
        name: Acme Till
        type: confidential
        secrets: [{value: "${secrets.till}"}]
        grantTypes: [ciba]
        scopes: [openid, orders.read]
        ciba: {approval: page}
      - clientId: acme-alarm
        name: Acme Alarm
        type: confidential
        secrets: [{value: "${secrets.alarm}"}]
        grantTypes: [ciba]
        scopes: [openid]
        ciba: {approval: webhook, url: "${webhookUrl ?? 'https://hook.acme.example/'}"}
      - clientId: acme-pinged
        name: Acme Ping Client
        type: confidential
        secrets: [{value: "${secrets.pinged}"}]
        grantTypes: [ciba, refresh_token]
        scopes: [openid, offline_access, orders.read]
        ciba: {approval: page, delivery: ping, notificationEndpoint: "${notificationEndpoint}"}
      - clientId: acme-mute
        name: Acme without an approval channel
        type: confidential
        secrets: [{value: "${secrets.mute}"}]
        grantTypes: [ciba]
        scopes: [openid]
      - clientId: acme-kiosk
        name: Acme Kiosk without a secret
        type: public
        grantTypes: [ciba]
        scopes: [openid]
        ciba: {approval: page}`;
}
