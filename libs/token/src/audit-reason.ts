import { OAuthError, type ErrorCode } from '@tessera/oauth';

/**
 * The private side of a refusal: the reason code for the audit trail. The client is told less, so that an answer never
 * says which of several secrets or states was wrong.
 */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly reason: string;
  /** A store has already written the audit row of this refusal, in the same commit as what it did. */
  readonly audited: boolean;

  constructor(reason: string, audited: boolean) {
    super(reason);
    this.reason = reason;
    this.audited = audited;
  }
}

/** An OAuthError with the reason code that the audit trail gets. */
export function refuse(
  code: ErrorCode,
  message: string,
  reason: string,
  { audited = false }: { audited?: boolean } = {},
): OAuthError {
  return new OAuthError(code, message, { cause: new Refusal(reason, audited) });
}
