import { fakeClock, testRuntime } from '@tessera/test-kit';
import { openGateway, passwordStep, type Behaviours } from './fake-services.ts';

/** Seconds since the Unix epoch. */
export const now = 1_800_000_000;
export const browserId = `tb_${'a'.repeat(43)}`;
/** Of a browser in which `ada` is signed in. */
export const cookie = `tessera_browser=${browserId}; tessera_session=ts_x`;

/** Of `ada`, a minute old. */
export const session = {
  sessionId: 's1',
  tenantId: 'acme',
  userId: 'u1',
  username: 'ada',
  name: 'Ada',
  authentication: { time: now - 60 },
};

/** A gateway at that time whose services know that session, and accept every sign-in. */
export const openForAda = (behaviours: Behaviours = {}, environment: Record<string, string> = {}) =>
  openGateway(
    testRuntime({ clock: fakeClock(now * 1000) }),
    {
      getSession: () => ({ session }),
      begin: () => passwordStep({}),
      continue: () => ({
        next: { next: { case: 'done', value: {} } },
        session: { sessionToken: 'ts_new', maxAge: 43_200 },
      }),
      ...behaviours,
    },
    environment,
  );
