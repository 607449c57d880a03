import { create } from '@bufbuild/protobuf';
import { TenantSchema } from '@tessera/proto-gen/directory';
import { describe, expect, it } from 'vitest';
import { refreshTokenStyle } from './refresh-token-answer.ts';

const refreshTokens = { encode: () => '', decode: () => undefined };
const issuer = 'https://login.harbour.example';

describe('the style of refresh tokens', () => {
  it.each([
    [{ issuer, endpoints: 'keycloak' }, true],
    [{ issuer, endpoints: 'standard' }, false],
    [{ issuer: '', endpoints: 'keycloak' }, false],
  ])('follows the record of the tenant, as its access tokens do: %o', (fields, ofSessions) => {
    const tenant = create(TenantSchema, { tenantId: 'harbour', ...fields });
    expect(refreshTokenStyle({ refreshTokens }, { tenant })).toMatchObject({ ofSessions });
  });
});
