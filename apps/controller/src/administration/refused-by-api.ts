import { Code, ConnectError, fieldErrors } from '@tessera/admin-client';

/** What a name of a document stands for in what the API says about it. */
export const documentName = 'spec';

/** Why nothing was written. Of the last two nobody needs to know, or nobody can do anything about them here. */
export interface Refusal {
  readonly reason: 'Invalid' | 'NotAllowed' | 'Conflict' | 'ChangedMeanwhile' | 'ServerUnavailable';
  readonly message: string;
}

const reasons: ReadonlyMap<Code, Refusal['reason']> = new Map([
  [Code.InvalidArgument, 'Invalid'],
  [Code.NotFound, 'Invalid'],
  [Code.PermissionDenied, 'NotAllowed'],
  [Code.FailedPrecondition, 'Conflict'],
  [Code.AlreadyExists, 'Conflict'],
  [Code.Aborted, 'ChangedMeanwhile'],
]);

/** What an error of the administration API says, by the fields of the object. */
export function refusalOf(error: unknown): Refusal {
  const said = ConnectError.from(error);
  const reason = reasons.get(said.code) ?? 'ServerUnavailable';
  const fields = fieldErrors(said).map(({ description }) => description);
  const text = fields.length > 0 ? fields.join('\n') : said.rawMessage;
  return { reason, message: byFields(text) };
}

function byFields(text: string): string {
  return text.replaceAll(
    new RegExp(
      `^${documentName}:\\d+:\\d+: (?:tenants\\[0\\](?:\\.(?:applications|resources)\\[0\\])?(\\.?))?`,
      'gm',
    ),
    (_all, dot: string | undefined) => `${documentName}${dot ?? ': '}`,
  );
}
