import type { Database } from '@tessera/stores';
import { testDatabase } from '@tessera/test-kit';
import { beforeAll, describe, expect, it } from 'vitest';
import { call, startRecords } from '../testing/start-records.ts';
import { migrations } from '../wiring.ts';

let database: Database;
let count = 0;
beforeAll(async () => {
  database = await testDatabase(migrations);
});

/** What a person has after an update of somebody whose address and number are verified. */
async function updated(fields: object, ...paths: string[]) {
  const { api } = startRecords(database);
  const tenantId = `verified${(count += 1)}`;
  await api.tenants.create({ tenantId, tenant: { name: 'Acme' } }, call());
  const verified = { emailVerified: true, phoneNumberVerified: true };
  const user = { username: 'eve', email: 'eve@home.example', phoneNumber: '+46701234567', ...verified };
  const { userId } = await api.users.create({ tenantId, user }, call());
  const mask = paths.length > 0 && { updateMask: { paths } };
  await api.users.update({ tenantId, user: { userId, ...fields }, ...mask }, call());
  const { email, emailVerified, phoneNumber, phoneNumberVerified } = await api.users.get(
    { tenantId, userId },
    call(),
  );
  return { email, emailVerified, phoneNumber, phoneNumberVerified };
}

describe('an update of an address or number that is verified', () => {
  const cfo = 'cfo@company.example';

  it.each([[['email']], [[]]])('leaves nothing verified but what it says, with mask %j', async (paths) => {
    expect(await updated({ email: cfo }, ...paths)).toEqual({
      email: cfo,
      emailVerified: undefined,
      phoneNumber: '+46701234567',
      phoneNumberVerified: true,
    });
  });

  it('is of the number, too', async () => {
    expect(await updated({ phoneNumber: '+46707654321' }, 'phone_number')).toMatchObject({
      emailVerified: true,
      phoneNumber: '+46707654321',
      phoneNumberVerified: undefined,
    });
  });

  it('may take both away', async () => {
    expect(await updated({}, 'email', 'phone_number')).toEqual({
      email: '',
      emailVerified: undefined,
      phoneNumber: '',
      phoneNumberVerified: undefined,
    });
  });

  it('may say that the new one is verified', async () => {
    const paths = ['email', 'email_verified'];
    expect(await updated({ email: cfo, emailVerified: true }, ...paths)).toMatchObject({
      email: cfo,
      emailVerified: true,
    });
  });

  it('keeps what is verified if it only spells the same one otherwise', async () => {
    expect(await updated({ email: 'Eve@HOME.example', phoneNumber: '+46701234567' })).toMatchObject({
      email: 'Eve@HOME.example',
      emailVerified: true,
      phoneNumberVerified: true,
    });
  });
});
