import table from './renamed-settings.json' with { type: 'json' };

/**
 * Settings that had another name in version 0.1. Compatibility until 0.3: the old name works, and the start warns and
 * names the new one.
 */
const renamedSettings: Readonly<Record<string, string>> = table;

type Environment = Readonly<Record<string, string | undefined>>;

/** The former names that an environment uses, themselves or with `_FILE`, each with its present one. */
export function formerNames(
  environment: Environment,
): readonly { readonly former: string; readonly present: string }[] {
  return Object.entries(renamedSettings)
    .flatMap(([former, present]) =>
      ['', '_FILE'].map((end) => ({ former: former + end, present: present + end })),
    )
    .filter(({ former }) => (environment[former] ?? '') !== '');
}

/** The environment with present names in the place of former ones; what is set under its present name stays. */
export function withPresentNames(environment: Environment): Environment {
  const renamed: Record<string, string | undefined> = { ...environment };
  for (const { former, present } of formerNames(environment)) {
    const name = present.replace(/_FILE$/, '');
    const isSet = [name, `${name}_FILE`].some((one) => (environment[one] ?? '') !== '');
    if (!isSet) renamed[present] = environment[former];
  }
  for (const former of Object.keys(renamedSettings)) {
    delete renamed[former];
    delete renamed[`${former}_FILE`];
  }
  return renamed;
}
