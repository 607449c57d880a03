import { Code, ConnectError } from '@connectrpc/connect';
import { Metadata, status } from '@grpc/grpc-js';
import { errorTable, isErrorCode, OAuthError } from '@tessera/oauth';
import { expect, test } from 'vitest';
import { fromStatus, toStatus } from './error-status.ts';
import { fieldViolations, invalidFields } from './field-violations.ts';

const detailKey = 'grpc-status-details-bin';

function detailOf(error: OAuthError): Buffer {
  const [detail] = toStatus(error).metadata.get(detailKey);
  if (!Buffer.isBuffer(detail)) throw new Error('no detail');
  return detail;
}

function withDetail(detail: Buffer): Metadata {
  const metadata = new Metadata();
  metadata.set(detailKey, detail);
  return metadata;
}

test('no protocol error is sent as OK, CANCELLED or DEADLINE_EXCEEDED', () => {
  for (const code of Object.keys(errorTable)) {
    if (!isErrorCode(code)) throw new Error('not a code');
    const sent = toStatus(new OAuthError(code, 'A sentence.'));
    expect([status.OK, status.CANCELLED, status.DEADLINE_EXCEEDED]).not.toContain(sent.code);
  }
});

test('an error of a handler tells clients not to retry; a transport error does not', () => {
  const decided = toStatus(new OAuthError('temporarily_unavailable', 'Later.'));
  expect(decided.metadata.get('grpc-retry-pushback-ms')).toEqual(['-1']);
  const trouble = toStatus(new ConnectError('restarting', Code.Unavailable));
  expect(trouble.metadata.getMap()).toEqual({});
});

test('the cause of an error is not sent', () => {
  const error = new OAuthError('invalid_grant', 'A sentence.', { cause: new Error('private') });
  const bytes = detailOf(error).toString();
  expect(bytes).toContain('A sentence.');
  expect(`${toStatus(error).details}${bytes}`).not.toContain('private');
});

test('what the access log says of a refusal is sent along with the sentence for the client', () => {
  const said = { received: 'https://acme.example/cb', hint: 'Register it.' };
  const refusal = { clientId: 'acme-web', phase: 'redirect_uri', reason: 'not registered', ...said };
  for (const sent of [refusal, { ...refusal, clientId: undefined }, undefined]) {
    const error = new OAuthError('invalid_request', 'A sentence.', { refusal: sent });
    const received = fromStatus(toStatus(error), 'S/M');
    expect(received).toMatchObject({ code: 'invalid_request', message: 'A sentence.' });
    expect(received).toHaveProperty('refusal', sent);
  }
});

test('the detail is a google.rpc.Status with code, message and our detail', () => {
  const detail = detailOf(new OAuthError('slow_down', 'Slower.', { retryAfterSeconds: 5 }));
  expect(detail.subarray(0, 11)).toEqual(Buffer.from('\x08\x08\x12\x07Slower.'));
  expect(detail.toString()).toContain('type.googleapis.com/tessera.');
});

test('a status without a detail keeps its code and message', () => {
  const received = { code: status.NOT_FOUND, details: 'no such key', metadata: new Metadata() };
  expect(fromStatus(received, 'S/M')).toMatchObject({ code: Code.NotFound, rawMessage: 'no such key' });
});

test('an unreadable detail leaves the plain status', () => {
  for (const garbage of [Buffer.from([0xff, 0xff, 0xff]), Buffer.alloc(0), Buffer.from('1a02ffff', 'hex')]) {
    const received = { code: status.INVALID_ARGUMENT, details: 'bad', metadata: withDetail(garbage) };
    const failure = fromStatus(received, 'S/M');
    expect(failure).toBeInstanceOf(ConnectError);
    expect(failure).toMatchObject({ code: Code.InvalidArgument });
  }
});

test('an error of a code that this version does not know is temporarily_unavailable', () => {
  const error = new OAuthError('invalid_grant', 'A sentence.');
  const renamed = detailOf(error).toString('latin1').replaceAll('invalid_grant', 'invalid_other');
  const metadata = withDetail(Buffer.from(renamed, 'latin1'));
  expect(fromStatus({ ...toStatus(error), metadata }, 'S/M')).toMatchObject({
    name: 'OAuthError',
    code: 'temporarily_unavailable',
    cause: { message: 'not known to this version: the error invalid_other' },
  });
});

test('an undefined status is UNKNOWN', () => {
  const received = { code: 99 as status, details: 'x', metadata: new Metadata() };
  expect(fromStatus(received, 'S/M')).toMatchObject({ code: Code.Unknown });
});

test('an error of fields keeps its code and names each field, up to twenty', () => {
  const fields = Array.from({ length: 21 }, (_, index) => ({
    field: `user.roles[${index}]`,
    description: 'is not a role of the tenant',
  }));
  const received = fromStatus(toStatus(invalidFields(fields, Code.AlreadyExists)), 'S/M');
  if (!(received instanceof ConnectError)) throw new Error('another error');
  expect(received.code).toBe(Code.AlreadyExists);
  expect(received.rawMessage).toMatch(/^user\.roles\[0\]: is not a role of the tenant\n/);
  expect(fieldViolations(received)).toEqual(fields.slice(0, 20));
});
