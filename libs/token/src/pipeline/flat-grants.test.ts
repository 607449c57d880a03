import { describe, expect, it } from 'vitest';
import { flatGrant } from '@tessera/oauth';
import { AuthorizationGrantSchema } from '@tessera/proto-gen/authorize';
import { ApprovedGrantSchema } from '@tessera/proto-gen/device';
import { create } from '@tessera/rpc';
import { grant } from '../store/contract/fixture.ts';
import { userGrantOf } from './flat-grants.ts';

const flat = flatGrant(grant);

describe('the grant of an answer', () => {
  it('is that of the present version where both are given', () => {
    const old = create(AuthorizationGrantSchema, { ...flat, userId: 'old' });
    expect(userGrantOf({ userGrant: grant, grant: old })).toBe(grant);
  });

  it('is read from the answer of authorize 0.1', () => {
    expect(userGrantOf({ grant: create(AuthorizationGrantSchema, flat) })).toEqual(grant);
  });

  it('is read from the answer of device 0.1, for the client that asked', () => {
    const { userinfoClaims: _, idTokenClaims: __, nonce: ___, ...ofDevice } = flat;
    const { tenantId, clientId } = flat;
    const read = userGrantOf({ grant: create(ApprovedGrantSchema, ofDevice) }, { tenantId, clientId });
    expect(read).toEqual({ ...grant, userinfoClaims: [], idTokenClaims: [] });
  });

  it('is missing where there is none', () => {
    expect(userGrantOf({})).toBeUndefined();
  });
});
