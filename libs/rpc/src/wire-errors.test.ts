import { Code, ConnectError } from '@connectrpc/connect';
import { errorTable, isErrorCode, OAuthError } from '@tessera/oauth';
import { expect, test } from 'vitest';
import { fromStatus, isDeliberate, ok, toStatus } from './wire-errors.ts';

test('no protocol error travels as OK, as cancelled, or as a deadline', () => {
  for (const code of Object.keys(errorTable)) {
    if (!isErrorCode(code)) throw new Error('not a code');
    const sent = toStatus(new OAuthError(code, 'A sentence.'));
    expect([ok, Code.Canceled, Code.DeadlineExceeded]).not.toContain(sent.code);
  }
});

test('what a handler decided can be told from trouble on the way', () => {
  expect(isDeliberate(toStatus(new OAuthError('temporarily_unavailable', 'Later.')))).toBe(true);
  const trouble = { code: Code.Unavailable, details: 'connection refused' };
  expect(isDeliberate(trouble)).toBe(false);
});

test('the cause of an error is not in what is sent', () => {
  const sent = toStatus(new OAuthError('invalid_grant', 'A sentence.', { cause: new Error('private') }));
  const bytes = sent.detail?.toString() ?? '';
  expect(bytes).toContain('A sentence.');
  expect(`${sent.details}${bytes}`).not.toContain('private');
});

test('a status without a detail keeps its code and message', () => {
  const received = { code: Code.NotFound, details: 'no such key' };
  expect(fromStatus(received, 'S/M')).toMatchObject({ code: Code.NotFound, rawMessage: 'no such key' });
});

test('garbage in the place of a detail leaves the plain status', () => {
  for (const garbage of [Buffer.from([0xff, 0xff, 0xff]), Buffer.alloc(0), Buffer.from('1a02ffff', 'hex')]) {
    const received = { code: Code.InvalidArgument, details: 'bad', detail: garbage };
    const failure = fromStatus(received, 'S/M');
    expect(failure).toBeInstanceOf(ConnectError);
    expect(failure).toMatchObject({ code: Code.InvalidArgument });
  }
});

test('a code that this version does not know leaves the plain status', () => {
  const sent = toStatus(new OAuthError('invalid_grant', 'A sentence.'));
  const renamed = sent.detail?.toString('latin1').replaceAll('invalid_grant', 'invalid_other') ?? '';
  const detail = Buffer.from(renamed, 'latin1');
  expect(fromStatus({ ...sent, detail }, 'S/M')).toMatchObject({
    name: 'ConnectError',
    code: Code.InvalidArgument,
  });
});

test('a status outside of the known ones is unknown', () => {
  const received = { code: 99 as Code, details: 'x' };
  expect(fromStatus(received, 'S/M')).toMatchObject({ code: Code.Unknown });
});
