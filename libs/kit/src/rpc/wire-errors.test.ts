import { Code, ConnectError } from '@connectrpc/connect';
import { Metadata, status } from '@grpc/grpc-js';
import { errorTable, isErrorCode, OAuthError } from '@tessera/oauth';
import { expect, test } from 'vitest';
import { fromStatus, isDeliberate, toStatus } from './wire-errors.ts';

const detailsKey = 'grpc-status-details-bin';

test('no protocol error travels as OK, as cancelled, or as a deadline', () => {
  for (const code of Object.keys(errorTable)) {
    if (!isErrorCode(code)) throw new Error('not a code');
    const sent = toStatus(new OAuthError(code, 'A sentence.'));
    expect([status.OK, status.CANCELLED, status.DEADLINE_EXCEEDED]).not.toContain(sent.code);
  }
});

test('what a handler decided can be told from trouble on the way', () => {
  expect(isDeliberate(toStatus(new OAuthError('temporarily_unavailable', 'Later.')))).toBe(true);
  const trouble = { code: status.UNAVAILABLE, details: 'connection refused', metadata: new Metadata() };
  expect(isDeliberate(trouble)).toBe(false);
});

test('the cause of an error is not in what is sent', () => {
  const sent = toStatus(new OAuthError('invalid_grant', 'A sentence.', { cause: new Error('private') }));
  const bytes = sent.metadata.get(detailsKey)[0]?.toString() ?? '';
  expect(bytes).toContain('A sentence.');
  expect(`${sent.details}${bytes}`).not.toContain('private');
});

test('a status without a detail keeps its code and message', () => {
  const received = { code: status.NOT_FOUND, details: 'no such key', metadata: new Metadata() };
  expect(fromStatus(received, 'S/M')).toMatchObject({ code: Code.NotFound, rawMessage: 'no such key' });
});

test('garbage in the place of a detail leaves the plain status', () => {
  for (const garbage of [Buffer.from([0xff, 0xff, 0xff]), Buffer.alloc(0), Buffer.from('1a02ffff', 'hex')]) {
    const metadata = new Metadata();
    metadata.set(detailsKey, garbage);
    const failure = fromStatus({ code: status.INVALID_ARGUMENT, details: 'bad', metadata }, 'S/M');
    expect(failure).toBeInstanceOf(ConnectError);
    expect(failure).toMatchObject({ code: Code.InvalidArgument });
  }
});

test('a code that this version does not know leaves the plain status', () => {
  const sent = toStatus(new OAuthError('invalid_grant', 'A sentence.'));
  const details = sent.metadata.get(detailsKey)[0];
  const renamed = Buffer.from(
    details?.toString('latin1').replaceAll('invalid_grant', 'invalid_other') ?? '',
    'latin1',
  );
  sent.metadata.set(detailsKey, renamed);
  expect(fromStatus(sent, 'S/M')).toMatchObject({ name: 'ConnectError', code: Code.InvalidArgument });
});

test('a status outside of the known ones is unknown', () => {
  const received = { code: 99 as status, details: 'x', metadata: new Metadata() };
  expect(fromStatus(received, 'S/M')).toMatchObject({ code: Code.Unknown });
});
