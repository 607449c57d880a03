/** A change of one source file. */
export interface SourceEdit {
  /** From the root. */
  readonly file: string;
  /** Stands there once. */
  readonly text: string;
  readonly replacement: string;
}

/** A check of the owner that is missing, with the checks that stand behind it. */
interface Defect {
  readonly name: string;
  readonly edits: readonly SourceEdit[];
  /** What `tessera smoke --isolation` then names. */
  readonly found: string;
}

export const defects: readonly Defect[] = [
  {
    name: 'a code is given to any client (checked twice)',
    found: 'a code is redeemed',
    edits: [
      {
        file: 'libs/authorize/src/store/store.memory.ts',
        text: 'if (grant.clientId !== presentation.clientId || grant.tenantId !== presentation.tenantId) {',
        replacement: 'if (false) {',
      },
      {
        file: 'libs/token/src/grants/authorization-code.ts',
        text: 'if (userGrant?.clientId !== application.clientId || userGrant.tenantId !== application.tenantId) {',
        replacement: 'if (userGrant === undefined) {',
      },
    ],
  },
  {
    name: 'clients of every tenant introspect the tokens of a resource',
    found: 'an access token is introspected',
    edits: [
      {
        file: 'libs/token/src/introspection/access-policy.ts',
        text: '(token.tenantId === tenantId && introspectAudiences.includes(token.audience))',
        replacement: 'introspectAudiences.includes(token.audience)',
      },
    ],
  },
  {
    name: 'a request at /approvals is decided by anybody',
    found: 'a request is approved',
    edits: [
      {
        file: 'libs/device/src/approval/approval.ts',
        text: 'const foreign = ownershipMismatch(grant, approver);',
        replacement: 'const foreign = undefined;',
      },
      {
        file: 'libs/device/src/approval/approval.ts',
        text: 'const user = await directory.user(tenantId, approver.userId, call.onward());',
        replacement: 'const user = await directory.user(approver.tenantId, approver.userId, call.onward());',
      },
    ],
  },
  {
    name: 'a refresh token is rotated for any client',
    found: 'a refresh token is used',
    edits: [
      {
        file: 'libs/token/src/store/rotate-refresh-token.postgres.ts',
        text: 'WHERE tenant_id = $1 AND family_id = $2::uuid AND client_id = $3 AND generation',
        replacement:
          'WHERE $1::text IS NOT NULL AND family_id = $2::uuid AND $3::text IS NOT NULL AND generation',
      },
    ],
  },
  {
    name: 'a token is taken for the own one of every client',
    found: 'a refresh token is introspected',
    edits: [
      {
        file: 'libs/token/src/introspection/access-policy.ts',
        text: 'token.tenantId === tenantId && token.clientId === clientId;',
        replacement: 'true;',
      },
    ],
  },
  {
    name: 'refresh tokens are introspected by any client',
    found: 'a refresh token is introspected',
    edits: [
      {
        file: 'libs/token/src/introspection/access-policy.ts',
        text: 'allowsRefreshToken: own,',
        replacement: 'allowsRefreshToken: () => true,',
      },
    ],
  },
  {
    name: 'access tokens are introspected by any client',
    found: 'an access token is introspected',
    edits: [
      {
        file: 'libs/token/src/introspection/access-policy.ts',
        text: 'allowsAccessToken: served,',
        replacement: 'allowsAccessToken: () => true,',
      },
    ],
  },
  {
    name: 'an access token is recognized for any client that revokes it (checked twice)',
    found: 'an access token is recognized',
    edits: [
      {
        file: 'libs/token/src/revocation/revoke-grant.ts',
        text: 'if (claims === undefined || claims.client_id !== owner?.clientId) return;',
        replacement: 'if (claims === undefined) return;',
      },
      {
        file: 'libs/token/src/revocation/revoke-grant.ts',
        text: 'if (claims.tenant_id !== owner.tenantId) return;',
        replacement: '',
      },
    ],
  },
  {
    name: 'a refresh token is revoked by any client',
    found: 'a refresh token is revoked',
    edits: [
      {
        file: 'libs/token/src/store/refresh-families.postgres.ts',
        text: '($2::text IS NULL OR tenant_id = $2) AND ($3::text IS NULL OR client_id = $3)',
        replacement: '($2::text IS NULL OR true) AND ($3::text IS NULL OR true)',
      },
    ],
  },
  {
    name: 'a device code is polled by any client',
    found: 'a device code is polled',
    edits: [
      {
        file: 'libs/device/src/store/grant-store.memory.ts',
        text: "if (clientId !== client.clientId || tenantId !== client.tenantId) return 'other_client';",
        replacement:
          "if (kind !== 'device_code' && (clientId !== client.clientId || tenantId !== client.tenantId)) return 'other_client';",
      },
    ],
  },
  {
    name: 'an auth_req_id is polled by any client',
    found: 'an auth_req_id is polled',
    edits: [
      {
        file: 'libs/device/src/store/grant-store.memory.ts',
        text: "if (clientId !== client.clientId || tenantId !== client.tenantId) return 'other_client';",
        replacement:
          "if (kind !== 'auth_req_id' && (clientId !== client.clientId || tenantId !== client.tenantId)) return 'other_client';",
      },
    ],
  },
  {
    name: 'any secret is one of a client',
    found: 'a client signs in',
    edits: [
      {
        file: 'libs/directory-client/src/client-authentication/client-authenticator.ts',
        text: 'await this.#bySecret({ clientId, clientSecret, ipAddress }, call),',
        replacement: 'await this.#cache.application(clientId, call),',
      },
    ],
  },
  {
    name: 'a redirect URI of any client is accepted',
    found: 'a redirect URI is used',
    edits: [
      {
        file: 'libs/authorize/src/request/request.ts',
        text: 'if (!matchesRegistered(settled(draft.record).application.redirectUris, settled(draft.form).redirectUri)) {',
        replacement: "if (!settled(draft.form).redirectUri.endsWith('/callback')) {",
      },
    ],
  },
  {
    name: 'a person is found in any tenant at a sign-in (checked three times)',
    found: 'a person signs in',
    edits: [
      {
        file: 'libs/directory/src/users/read.postgres.ts',
        text: 'WHERE i.tenant_id = $1 AND i.identifier = $2`',
        replacement: 'WHERE $1::text IS NOT NULL AND i.identifier = $2`',
      },
      {
        file: 'libs/directory/src/users/read.postgres.ts',
        text: 'WHERE u.tenant_id = $1 AND u.user_id = $2 AND u.password_hash = $3',
        replacement: 'WHERE $1::text IS NOT NULL AND u.user_id = $2 AND u.password_hash = $3',
      },
      {
        file: 'libs/authorize/src/methods/password/password.ts',
        text: 'if (user?.tenantId !== tenantId || !directory.isActive(user)) return undefined;',
        replacement: 'if (user === undefined || !directory.isActive(user)) return undefined;',
      },
    ],
  },
  {
    name: 'a person is found in any tenant by a login_hint (checked three times)',
    found: 'a person is asked',
    edits: [
      {
        file: 'libs/directory/src/users/read.postgres.ts',
        text: 'WHERE i.tenant_id = $1 AND i.identifier = $2`',
        replacement: 'WHERE $1::text IS NOT NULL AND i.identifier = $2`',
      },
      {
        file: 'libs/device/src/backchannel/backchannel-authentication.ts',
        text: 'return user?.tenantId === tenantId ? user : undefined;',
        replacement: 'return user;',
      },
      {
        file: 'libs/device/src/store/grant-store.memory.ts',
        text: 'const personOf = (tenantId: string, userId: string): string => `${tenantId}\\0${userId}`;',
        replacement: 'const personOf = (_tenantId: string, userId: string): string => userId;',
      },
    ],
  },
  {
    name: 'an ID token speaks for any client',
    found: 'an ID token speaks',
    edits: [
      {
        file: 'libs/gateway/src/pages/logout/logout-page.ts',
        text: "if (!answer.valid || (asked.clientId !== '' && asked.clientId !== answer.clientId)) return asked;",
        replacement: 'if (!answer.valid) return asked;',
      },
    ],
  },
  {
    name: 'an address of any client is accepted after a sign-out',
    found: 'an ID token leads',
    edits: [
      {
        file: 'libs/authorize/src/logout/end-session.ts',
        text: "if (asked !== '' && matchesRegistered(logoutRedirectUris, asked))",
        replacement: "if (asked.endsWith('/goodbye'))",
      },
    ],
  },
  {
    name: 'a user code is opened by anybody',
    found: 'a user code is opened',
    edits: [
      {
        file: 'libs/device/src/store/grant-store.memory.ts',
        text: "if (record.request.tenantId !== owner.tenantId) return 'other_tenant';",
        replacement: '',
      },
    ],
  },
  {
    name: 'a device is approved by anybody (checked three times)',
    found: 'a device is approved',
    edits: [
      {
        file: 'libs/device/src/approval/approval.ts',
        text: "if (request.tenantId !== approver.tenantId) return 'other_tenant';",
        replacement: '',
      },
      {
        file: 'libs/device/src/approval/approval.ts',
        text: "if (owner.userId === '' || owner.userId !== approver.userId) return 'other_person';",
        replacement: '',
      },
      {
        file: 'libs/device/src/approval/approval.ts',
        text: "if (request.kind === 'device_code' && owner.sessionId !== approver.sessionId) return 'other_session';",
        replacement: '',
      },
      {
        file: 'libs/device/src/approval/approval.ts',
        text: 'const user = await directory.user(tenantId, approver.userId, call.onward());',
        replacement: 'const user = await directory.user(approver.tenantId, approver.userId, call.onward());',
      },
    ],
  },
  {
    name: 'requests at /approvals are listed for everybody',
    found: 'a request is shown',
    edits: [
      {
        file: 'libs/device/src/store/grant-store.memory.ts',
        text: 'const personOf = (tenantId: string, userId: string): string => `${tenantId}\\0${userId}`;',
        replacement: "const personOf = (_tenantId: string, _userId: string): string => '';",
      },
    ],
  },
];
