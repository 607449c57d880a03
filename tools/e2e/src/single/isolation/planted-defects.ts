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
];
