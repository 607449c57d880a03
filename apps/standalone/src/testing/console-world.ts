import { pageTable, signedInConsole } from '@tessera/console/testing';
import { Secret, systemRandom, opaqueValue, ulid, uuid } from '@tessera/kit';
import { ApplicationsService } from '@tessera/proto-gen/admin-applications';
import { KeysService } from '@tessera/proto-gen/admin-keys';
import { TenantsService } from '@tessera/proto-gen/admin-tenants';
import { UsersService } from '@tessera/proto-gen/admin-users';
import { DirectoryService } from '@tessera/proto-gen/directory';
import { callingByToken, local, type BuiltService } from '@tessera/rpc';
import { silentLog } from '@tessera/test-kit';
import { administered, call } from './administered.ts';

/** Who visits, with the role that limits them and the organization whose pages they open. */
export const visitors = [
  { who: 'an operator', username: 'root', own: 'ops', of: 'acme', role: 'tessera.administrator' },
  {
    who: 'an administrator of a tenant',
    username: 'ivy',
    own: 'initech',
    of: 'initech',
    role: 'tessera.administrator',
  },
  { who: 'a help desk', username: 'helper', own: 'ops', of: 'acme', role: 'tessera.helpdesk' },
  { who: 'an auditor', username: 'auditor', own: 'ops', of: 'acme', role: 'tessera.auditor' },
  { who: 'somebody without a role', username: 'nobody', own: 'ops', of: 'acme', role: '' },
] as const;

/** The rows of the table of pages that are for administrators. */
export const administratorRows = pageTable.flatMap((row) =>
  row.who === 'anyone' ? [] : [{ ...row, who: row.who }],
);

/** A page as it came. */
export interface ShownPage {
  readonly status: number;
  readonly location: string;
  readonly html: string;
}

const applicationOf = { acme: 'acme-own', initech: 'initech-own' } as const;

/** A served console with the visitors in it, and what their pages are about. */
export async function consoleWorld() {
  const on = await administered();
  on.clock.set(Date.now());
  const users = local(UsersService, on.directory, 'operator', silentLog());
  const applications = local(ApplicationsService, on.directory, 'operator', silentLog());
  /** The names of the methods of the API that were called. */
  const calls: string[] = [];
  const counted: BuiltService = {
    ...on.admin,
    routes: on.admin.routes.map((route) => ({
      ...route,
      handlers: Object.fromEntries(
        Object.entries(route.handlers).map(([name, handler]) => [
          name,
          (...given: unknown[]): unknown => {
            calls.push(name);
            return (handler as (...args: unknown[]) => unknown)(...given);
          },
        ]),
      ),
    })),
  };
  const console = signedInConsole({
    url: 'http://127.0.0.1',
    proof: new Secret(opaqueValue('', systemRandom)),
    issuer: 'https://id.example',
    operatorTenant: 'ops',
    directory: local(DirectoryService, on.directory, 'admin', silentLog()),
    byToken: await callingByToken(counted.routes, silentLog()),
    messagesDirectory: undefined,
    log: silentLog(),
  });
  const { cookieOf } = console;
  const url = await on.serve(on.admin, console.pages);
  for (const [tenantId, clientId] of Object.entries(applicationOf))
    await applications.create(
      {
        tenantId,
        application: { clientId, name: 'Own', type: 'confidential', grantTypes: ['client_credentials'] },
      },
      call(),
    );
  const tenants = local(TenantsService, on.directory, 'operator', silentLog());
  // What a file declares is changed there alone.
  for (const tenantId of ['acme', 'initech'])
    await tenants.update(
      { tenantId, tenant: { tenantId, name: tenantId }, updateMask: { paths: ['name'] }, takeOver: true },
      call(),
    );
  const accessTokens: string[] = [];
  const cookies = new Map<string, string>();
  for (const { username, own } of visitors) {
    const token = await on.tokenOfPerson(own, await on.userId(own, username));
    accessTokens.push(token);
    cookies.set(username, cookieOf(own, token, own === 'ops'));
  }
  // One of each algorithm is retired then.
  const keys = local(KeysService, keysOf(on.services), 'operator', silentLog());
  await keys.rotate({ immediately: true }, call());
  const everythingSent: string[] = [];

  async function visit(path: string, cookie: string, init: RequestInit = {}): Promise<ShownPage> {
    const response = await fetch(`${url}/console${path}`, {
      redirect: 'manual',
      ...init,
      headers: { accept: 'text/html', cookie, ...(init.headers as Record<string, string>) },
    });
    const html = await response.text();
    everythingSent.push(JSON.stringify([...response.headers]), html);
    return { status: response.status, location: response.headers.get('location') ?? '', html };
  }

  /**
   * A person of a tenant who has what pages of a person are about; parts of paths by name.
   * @param isAsked whether something waits for their approval; an application may not ask often
   */
  async function somebody(tenantId: 'acme' | 'initech', name = 'Somebody', isAsked = false) {
    const username = `somebody.${uuid()}`;
    const { userId } = await users.create({ tenantId, user: { username, name } }, call());
    const sessionId = await on.session({ tenantId, userId });
    await on.database.query({
      name: 'test.consent',
      text: `INSERT INTO authorize.consent (tenant_id, user_id, client_id, scopes, granted_at, signed_in_at)
             VALUES ($1, $2, $3, '{openid}', now(), now())`,
      values: [tenantId, userId, applicationOf[tenantId]],
    });
    const { keys: known } = await keys.list({}, call());
    // What the other algorithm has signed lets the visitors in.
    const retired = known.find(({ state, algorithm }) => state === 'retired' && algorithm === 'ES256');
    return {
      tenant: tenantId,
      person: userId,
      application: applicationOf[tenantId],
      session: sessionId,
      approval: isAsked ? await on.waitingFor(tenantId, username) : 'none',
      key: retired?.kid ?? 'none',
    };
  }

  /** Puts an event into the trail, as `authorize` does. */
  async function noted(event: Readonly<Record<string, unknown>>, time = Date.now()): Promise<void> {
    const eventId = ulid({ now: () => time }, systemRandom);
    const record = JSON.stringify({ ...event, eventId, time: new Date(time).toISOString() });
    const columns = ['event', 'tenantId', 'outcome', 'reason'].map((name) => event[name] ?? null);
    await on.database.query({
      name: 'test.event',
      text: `INSERT INTO authorize.audit_event (event_id, event, tenant_id, outcome, reason, record)
             VALUES ($1, $2, $3, $4, $5, $6::jsonb)`,
      values: [eventId, ...columns, record],
    });
  }

  return {
    on,
    noted,
    url,
    users,
    applications,
    calls,
    cookieOf,
    cookies,
    accessTokens,
    everythingSent,
    visit,
    somebody,
    /** The path of a page that is about somebody. */
    pathOf: (path: string, of: Readonly<Record<string, string>>) =>
      path.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(of[name] ?? `no ${name}`)),
  };
}

function keysOf(services: readonly BuiltService[]): BuiltService {
  const found = services.find(({ name }) => name === 'keys');
  if (found === undefined) throw new Error('there is no keys service');
  return found;
}

export type ConsoleWorld = Awaited<ReturnType<typeof consoleWorld>>;
