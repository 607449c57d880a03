import { describe, expect, it } from 'vitest';
import type { System } from '../../harness/set-up.ts';
import { expectError } from '../../harness/flows.ts';
import { secrets } from '../../harness/declared-state.ts';

/** How clients authenticate at `/token`, and the bodies that it takes. */
export function tokenRequestsSuite(system: () => System): void {
  describe('client authentication', () => {
    it('accepts client_secret_basic in both dialects and says so in WWW-Authenticate when it fails (RFC 6749 section 2.3.1)', async () => {
      const { http } = system();
      for (const ask of [
        { json: { grantType: 'client_credentials', scope: 'orders.read' } },
        { form: { grant_type: 'client_credentials', scope: 'orders.read' } },
      ]) {
        const good = await http.ask('POST', '/token', { ...ask, basic: ['acme-service', secrets.service] });
        expect(good.status).toBe(200);
        const wrong = await http.ask('POST', '/token', { ...ask, basic: ['acme-service', 'x'.repeat(43)] });
        expectError(wrong, 401, 'invalid_client');
        expect(wrong.header('www-authenticate')).toMatch(/^Basic /);
      }
    });

    it('refuses two authentication methods in one request (RFC 6749 section 2.3)', async () => {
      const answer = await system().http.ask('POST', '/token', {
        form: { grant_type: 'client_credentials', client_id: 'acme-service', client_secret: secrets.service },
        basic: ['acme-service', secrets.service],
      });
      expectError(answer, 400, 'invalid_request');
    });
  });

  describe('bodies', () => {
    it('takes two exact media types and refuses the rest with 415', async () => {
      const { http } = system();
      const body = JSON.stringify({ grantType: 'client_credentials', clientId: 'acme-service' });
      for (const type of [
        'text/plain',
        'application/jsonX',
        'application/json garbage',
        'multipart/form-data; boundary=x',
      ]) {
        const answer = await http.ask('POST', '/token', { body, headers: { 'content-type': type } });
        expect(answer.status, type).toBe(415);
      }
    });

    it('refuses malformed, nested, repeated and oversized bodies without a grant', async () => {
      const { http } = system();
      const json = { 'content-type': 'application/json' };
      const form = { 'content-type': 'application/x-www-form-urlencoded' };
      const cases: [string, Record<string, string>, number][] = [
        ['{', json, 400],
        ['[]', json, 400],
        ['{"grantType":["client_credentials"]}', json, 400],
        ['{"grantType":{"grantType":"client_credentials"}}', json, 400],
        ['{"grantType":"client_credentials","grantType":"refresh_token"}', json, 400],
        ['grant_type=client_credentials&grant_type=refresh_token', form, 400],
        ['grant_type=client_credentials&client_id=%zz', form, 400],
        [JSON.stringify({ grantType: 'client_credentials', scope: 'x'.repeat(70_000) }), json, 413],
      ];
      for (const [body, headers, status] of cases) {
        const answer = await http.ask('POST', '/token', { body, headers });
        expectError(answer, status, 'invalid_request');
      }
    });
  });
}
