import { describe, expect, it } from 'vitest';
import { Code, ConnectError } from '@tessera/rpc';
import { testRuntime } from '@tessera/test-kit';
import { openGateway, passwordStep } from '../testing/fake-services.ts';

const looksOf = (code?: Code) => ({
  begin: () => passwordStep({}),
  getTenantLooks() {
    if (code !== undefined) throw new ConnectError('no', code);
    return { name: 'Acme' };
  },
});
const pages = ['/account', '/approvals', '/password', '/password/forgot', '/register'];

describe.each(pages)('%s of an organization that a person names', (path) => {
  const get = async (tenant: string, code?: Code) =>
    openGateway(testRuntime(), looksOf(code)).app.inject({
      method: 'GET',
      url: `${path}?tenant=${tenant}`,
      headers: { accept: 'text/html' },
    });

  it('says that there is none of that name, and asks for it again', async () => {
    const { statusCode, body } = await get('nosuch', Code.NotFound);
    expect(statusCode).toBe(200);
    expect(body).toContain('There is no organization with this name.');
    expect(body).toContain('name="tenant" type="text" value="nosuch"');
    expect(body).not.toContain('your account at');
  });

  it('says that a name is none, and nothing of one that was not entered yet', async () => {
    expect((await get('No%20such')).body).toContain('This is not a valid organization name.');
    expect((await get('')).body).not.toContain('aria-invalid');
  });

  it.each([undefined, Code.Unavailable, Code.Unimplemented])(
    'is shown for one that exists, or of which that cannot be found out (%s)',
    async (code) => {
      const { statusCode, body } = await get('acme', code);
      expect(statusCode).toBe(200);
      expect(body).not.toContain('There is no organization');
      expect(body).toContain('name="tenant" value="acme"');
    },
  );
});
