import { Code, ConnectError } from '@connectrpc/connect';
import { OAuthError, temporarilyUnavailable } from '@tessera/oauth';
import { expect, test } from 'vitest';
import { toConnectError } from '../hosts/connect/connect-error.ts';
import { fromStatus, toStatus } from './error-status.ts';
import { needsOperator, operatorRemedy } from './operator-action.ts';

test('what an operator has to do travels by gRPC and Connect, and clients are told nothing of it', () => {
  const error = needsOperator('Start with the former one');
  expect(error.message).toBe(temporarilyUnavailable().message);
  for (const received of [error, fromStatus(toStatus(error), 'S/M'), toConnectError(error)])
    expect(operatorRemedy(received)).toBe('Start with the former one');
});

test.each([
  ['a store that is away', temporarilyUnavailable(new Error('ECONNREFUSED'))],
  [
    'another refusal',
    new OAuthError('invalid_client', 'No.', { refusal: { phase: 'secret', reason: 'wrong' } }),
  ],
  ['an error of the transport', new ConnectError('restarting', Code.Unavailable)],
  ['something else', new Error('nothing')],
])('%s needs no operator', (_what, error) => {
  expect(operatorRemedy(error)).toBeUndefined();
  if (error instanceof OAuthError) expect(operatorRemedy(toConnectError(error))).toBeUndefined();
});
