import { describe, expect, it } from 'vitest';
import { testRuntime } from '@tessera/test-kit';
import { antiForgery } from '@tessera/pages';
import { openGateway } from '../testing/fake-services.ts';
import { purpose } from './form.ts';

const browserId = `tb_${'b'.repeat(43)}`;
const csrf = (of: string) => antiForgery.token(browserId, of);

describe('a form that continues as GET', () => {
  it.each([
    ['POST /authorize', '/authorize', (text: string) => ({ client_id: 'web', state: text }), 4_000],
    [
      'POST /logout of an application',
      '/logout',
      (text: string) => ({ client_id: 'web', state: text }),
      4_000,
    ],
    [
      'POST /logout that continues an authorization request',
      '/logout',
      (text: string) => ({ continue: `state=${text}`, csrf: csrf(purpose.signOut) }),
      4_000,
    ],
    // A page repeats at most 512 characters of a code.
    ['POST /device', '/device', (text: string) => ({ user_code: text, csrf: csrf(purpose.enterCode) }), 512],
  ])(
    'is refused by %s if the address would be too long for the next request',
    async (_what, url, form, longest) => {
      const gateway = openGateway(testRuntime(), { endSession: () => ({ location: '' }) });
      const post = (length: number) =>
        gateway.app.inject({
          method: 'POST',
          url,
          headers: {
            'content-type': 'application/x-www-form-urlencoded',
            cookie: `tessera_browser=${browserId}`,
          },
          payload: new URLSearchParams(form('x'.repeat(length))).toString(),
        });
      const long = await post(60_000);
      expect([long.statusCode, long.headers.location]).toEqual([400, undefined]);
      expect((await post(longest)).statusCode).toBe(303);
    },
  );
});
