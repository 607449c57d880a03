import { newDatabaseUrl } from '@tessera/test-kit';
import { beforeAll, describe, expect, it } from 'vitest';
import { impactLines } from '../operate/records/show-impact.ts';
import { schemas } from '../processes.ts';
import { directly, file, rows, secrets } from '../testing/run-command.ts';

const state = (status: string) => `tenants:
  - id: acme
    name: Acme
    users: [{ username: ada, status: ${status} }, { username: bob }]
    applications:
      - clientId: tv
        name: TV
        type: public
        grantTypes: [device_code, refresh_token]
        scopes: [openid, offline_access]
`;
const family = '0190b5a0-0000-7000-8000-000000000001';

let environment: Record<string, string>;
beforeAll(async () => {
  const url = await newDatabaseUrl(...schemas);
  environment = { DATABASE_URL: url, ...secrets };
  await directly(`apply -f ${file(state('active'))}`, environment);
  const ada = `FROM directory.user_account WHERE username = 'ada'`;
  await rows(
    url,
    `INSERT INTO authorize.session (session_id, token_hash, tenant_id, user_id, auth_time, created_at, last_seen_at, expires_at,
                                    ip_address, user_agent_hash)
     SELECT 'sid-1', sha256('1'), tenant_id, user_id, now(), now(), now(), now() + interval '1 hour', '', '' ${ada}`,
  );
  await rows(
    url,
    `INSERT INTO token.refresh_family (tenant_id, family_id, client_id, user_id, generation, scopes, resource, session_id, issuer,
                                       auth_time, idle_expires_at, absolute_expires_at)
     SELECT tenant_id, '${family}', 'tv', user_id, 1, '{openid,offline_access}', '', 'sid-1', 'https://id.example',
            extract(epoch FROM now()), now() + interval '1 hour', now() + interval '1 hour' ${ada}`,
  );
  await rows(
    url,
    `INSERT INTO authorize.consent (tenant_id, user_id, client_id, scopes, granted_at, signed_in_at)
     SELECT tenant_id, user_id, 'tv', '{openid}', now(), now() ${ada}`,
  );
});

const said = async (words: string) => (await directly(words, environment)).said;
const ofAda = 'acme: ends 1 session: ada (sid-1)\n';
const tokens = `acme: ends 1 refresh token: ada with tv (${family})\n`;
const consent = 'acme: ends 1 consent: ada with tv\n';
/** They are in Redis. */
const notAll = 'Waiting approvals are not counted.\n';

describe('what a change would end, counted in the database', () => {
  it('is in the diff of a file', async () => {
    expect(await said(`diff --impact -f ${file(state('disabled'))}`)).toBe(
      `acme: user ada would be updated (status)\n${notAll}acme: ends what was issued to 1 person: ada\n${ofAda}${tokens}${consent}`,
    );
    const without = file(state('active').replace(', offline_access', ''));
    expect(await said(`diff --impact -f ${without}`)).toBe(
      `acme: application tv would be updated (scopes)\n${notAll}${tokens}`,
    );
  });

  it('names the numbers of people whose addresses are judged by other providers', () => {
    const nothing = { people: 0, usernames: [], applications: 0, clientIds: [] };
    expect(impactLines('acme', { ...nothing, noLongerVerified: 1, verifiedAgain: 12 })).toEqual([
      'acme: makes 1 e-mail address no longer verified\n',
      'acme: makes 12 e-mail addresses verified again\n',
    ]);
  });

  it('is in the answer to a change of one record that is only validated', async () => {
    const ada = '--tenant acme --username ada --take-over';
    expect(await said(`user delete ${ada} --validate-only --impact`)).toBe(
      `${notAll}acme: ends what was issued to 1 person: ada\n${ofAda}${tokens}${consent}Nothing was changed.\n`,
    );
    const update = await said(`user update ${ada} --status locked --validate-only --impact -o json`);
    expect(JSON.parse(update.replace(notAll, '').replace('Nothing was changed.\n', ''))).toMatchObject({
      status: 'locked',
      impact: {
        people: 1,
        sessions: { total: 1 },
        refreshFamilies: { total: 1 },
        consents: { total: 1, first: [{ username: 'ada', clientId: 'tv' }] },
      },
    });
    const desk = await said(
      'application delete --tenant acme --client-id tv --take-over --validate-only --impact',
    );
    expect(desk).toBe(
      `${notAll}acme: ends what was issued to 1 application: tv\n${tokens}${consent}Nothing was changed.\n`,
    );
    expect(await said(`user delete ${ada} --impact`)).toBe(
      '--impact is for --validate-only: it says what the change would end.\n',
    );
    expect(await said('user list --tenant acme -o json')).toContain('"ada"');
  });

  it('is in the answer to a reset of second factors that is only validated', async () => {
    const ada = '--tenant acme --username ada';
    await rows(
      environment['DATABASE_URL'] ?? '',
      `INSERT INTO directory.totp (tenant_id, user_id, sealed, last_step)
       SELECT tenant_id, user_id, '', 0 FROM directory.user_account WHERE username = 'ada'`,
    );
    expect(await said(`user reset-factors ${ada} --validate-only --impact`)).toBe(
      `${notAll}acme: ends what was issued to 1 person: ada\n${ofAda}${tokens}${consent}This removes the authenticator app of ada and ends all sign-ins.\n`,
    );
    expect(await said(`user reset-factors ${ada} --impact`)).toBe(
      '--impact is for --validate-only: it says what the change would end.\n',
    );
  });

  it('has who would be left without a way in, for whom apply needs --allow-delete', async () => {
    const declared = (providers: string) =>
      file(
        `tenants: [{ id: globex, name: Globex, users: [{ username: bob }], providers: [${providers}] }]\n`,
      );
    const corp = '{ name: corp, issuer: "https://corp.example", clientId: globex, clientSecret: a secret }';
    await directly(`apply -f ${declared(corp)}`, environment);
    await rows(
      environment['DATABASE_URL'] ?? '',
      `INSERT INTO directory.provider_identity (tenant_id, provider, issuer, subject, user_id)
       SELECT tenant_id, 'corp', 'https://corp.example', '1', user_id FROM directory.user_account WHERE tenant_id = 'globex'`,
    );
    expect(await said(`diff -f ${declared('')}`)).toBe(
      'globex: provider corp would be deleted\nglobex: user bob would have no way in without what it takes away\n' +
        'Applying it needs --allow-delete, for 1 deletion, and people who would have no way in.\n',
    );
    const refused = await directly(`apply -f ${declared('')}`, environment);
    expect(refused).toMatchObject({
      code: 3,
      said: expect.stringMatching(
        '^Nothing was applied: the declared state leaves out records, and applying it would delete them:\nglobex: provider corp\n' +
          'And without the providers, passkeys and identities that it takes away, people would have no way in:\nglobex: user bob\n',
      ) as string,
    });
    const { code } = await directly(`apply -f ${declared('')} --allow-delete`, environment);
    expect(code).toBe(0);
  });
});
