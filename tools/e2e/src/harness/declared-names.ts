/**
 * Who and what there is in every end-to-end run. The secrets are listed, so that the output can be searched for them.
 */

export const people = {
  ada: {
    tenant: 'acme',
    username: 'ada',
    password: 'analytical-engine-1843',
    email: 'ada@acme.example',
    name: 'Ada Lovelace',
  },
  bob: {
    tenant: 'acme',
    username: 'bob',
    password: 'difference-engine-1822',
    email: 'bob@acme.example',
    name: 'Bob Babbage',
  },
  cleo: {
    tenant: 'acme',
    username: 'cleo',
    password: 'nile-barge-1-bc-cleo',
    email: 'cleo@acme.example',
    name: 'Cleo Ptolemy',
  },
  gus: {
    tenant: 'initech',
    username: 'gus',
    password: 'slide-rule-1622-gus',
    email: 'gus@initech.example',
    name: 'Gus',
  },
  eve: {
    tenant: 'globex',
    username: 'eve',
    password: 'jacquard-loom-1804-eve',
    email: 'eve@globex.example',
    name: 'Eve Globex',
  },
} as const;

/**
 * Of their passwords: the state is applied hundreds of times in a run, and hashes cost nothing then. Bob's password is
 * declared.
 */
export const passwordHashes = {
  ada: '$argon2id$v=19$m=19456,t=2,p=1$ucOpNWRxd1nT4aj381VM/Q$K/16Bwhd94IYHs14QwtJQFSkR2vCFIfosQqsn7wqCp4',
  cleo: '$argon2id$v=19$m=19456,t=2,p=1$zY/DYHpguCu/h40kKqJu5A$lGNp6Z1rvJ9/oaYqYUI00t31mx6DR6kuIrMYg3yvviI',
  gus: '$argon2id$v=19$m=19456,t=2,p=1$nnZMtLeOKcUteTVu15WqmA$mqUrACtRtCtnSGHaM+E0AFLY3xNVYpkXZLG+gMRBWXI',
  eve: '$argon2id$v=19$m=19456,t=2,p=1$f8IquO9+ZjgHl5oeNlpO7w$3Q4l8qi3kGXS6Z2Z+cEnnv6fwN3luHbT+oVHl4+RhHk',
};

export const secrets = {
  web: 'acme-web-secret-0123456789-0123456789-abc',
  service: 'acme-service-secret-0123456789-0123456789',
  other: 'acme-other-secret-0123456789-0123456789-x',
  reports: 'acme-reports-secret-0123456789-0123456789',
  globex: 'globex-web-secret-0123456789-0123456789-y',
  box: 'acme-box-secret-0123456789-0123456789-abcd',
  desk: 'acme-desk-secret-0123456789-0123456789-abc',
  till: 'acme-till-secret-0123456789-0123456789-abc',
  mute: 'acme-mute-secret-0123456789-0123456789-abc',
  alarm: 'acme-alarm-secret-0123456789-0123456789-ab',
  pinged: 'acme-pinged-secret-0123456789-0123456789-a',
  own: 'own-issuer-web-secret-0123456789-012345678',
  admin: 'acme-admin-secret-0123456789-0123456789-ab',
  ledger: 'acme-ledger-secret-0123456789-0123456789-a',
  parcels: 'acme-parcels-secret-0123456789-0123456789',
} as const;

export const redirectUri = 'http://127.0.0.1:9000/callback';
export const ordersAudience = 'https://orders.acme.example';
export const billingAudience = 'https://billing.acme.example';
/** Its access tokens are those of RFC 9068, with `scope` as a string. */
export const stockAudience = 'https://stock.acme.example';
/** Its access tokens have the `typ` `JWT` besides. */
export const shelfAudience = 'https://shelf.acme.example';
export const parcelAudience = 'https://parcels.acme.example';
