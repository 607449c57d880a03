import { tenantsWith } from '../declared-state.ts';
import { check, type Scenario } from '../scenario.ts';

/** A declared state that gives somebody administration is refused by its Job, once, until it is allowed. */
export const administration: Scenario = {
  name: 'administration',
  errors: 'none',
  async run({ release, load }) {
    await load.more(20);
    const tenants = tenantsWith(['worker-secret']).map(({ users, ...tenant }) => ({
      ...tenant,
      users: users.map((user) => ({ ...user, roles: ['tessera.administrator'] })),
    }));
    const output = await release.refusedState({ state: { tenants } });
    for (const part of ['ada', 'tessera.administrator', '--allow-administration'])
      check(output.includes(part), `the Job does not name ${part}: ${output.slice(-500)}`);
    await release.upgrade({ state: { tenants, allowAdministration: true } });
    await load.more(50);
    await release.upgrade({});
  },
};
