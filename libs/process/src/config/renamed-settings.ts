/**
 * Settings that had another name in the version before. The old name works for one more version; the start warns and
 * names the new one. Remove this table with the next version.
 */
export const renamedSettings: Readonly<Record<string, string>> = {
  TESSERA_CIBA_PENDING_LIMIT: 'TESSERA_CIBA_PENDING_PER_USER',
  TESSERA_CIBA_START_LIMIT_USER: 'TESSERA_CIBA_REQUESTS_PER_USER',
  TESSERA_DECISION_LIMIT_ACCOUNT: 'TESSERA_DECISIONS_PER_USER',
  TESSERA_DEVICE_GUESS_LIMIT_ADDRESS: 'TESSERA_USER_CODE_FAILURES_PER_ADDRESS',
  TESSERA_DEVICE_GUESS_LIMIT_GLOBAL: 'TESSERA_USER_CODE_FAILURES_TOTAL',
  TESSERA_DEVICE_GUESS_LIMIT_SESSION: 'TESSERA_USER_CODE_FAILURES_PER_SESSION',
  TESSERA_DEVICE_GUESS_WINDOW: 'TESSERA_USER_CODE_FAILURES_WINDOW',
  TESSERA_DEVICE_MARK_KEY: 'TESSERA_DEVICE_HMAC_KEY',
  TESSERA_DEVICE_START_LIMIT_ADDRESS: 'TESSERA_DEVICE_REQUESTS_PER_ADDRESS',
  TESSERA_DEVICE_START_LIMIT_CLIENT: 'TESSERA_DEVICE_REQUESTS_PER_CLIENT',
  TESSERA_INTROSPECTION_BINDINGS: 'TESSERA_INTROSPECTION_CERTIFICATE_CLIENTS',
  TESSERA_INTROSPECTION_CACHE: 'TESSERA_INTROSPECTION_CACHE_TTL',
  TESSERA_KEYS_POLL_INTERVAL: 'TESSERA_KEYS_RELOAD_INTERVAL',
  TESSERA_KEYS_PUBLICATION_LEAD: 'TESSERA_KEYS_PUBLISH_AHEAD',
  TESSERA_LIFETIME_ACCESS_TOKEN: 'TESSERA_ACCESS_TOKEN_TTL',
  TESSERA_LIFETIME_AUTHORIZATION_REQUEST: 'TESSERA_AUTHORIZATION_REQUEST_TTL',
  TESSERA_LIFETIME_CIBA: 'TESSERA_CIBA_REQUEST_TTL',
  TESSERA_LIFETIME_CODE: 'TESSERA_AUTHORIZATION_CODE_TTL',
  TESSERA_LIFETIME_DEVICE_CODE: 'TESSERA_DEVICE_CODE_TTL',
  TESSERA_LIFETIME_ID_TOKEN: 'TESSERA_ID_TOKEN_TTL',
  TESSERA_LIFETIME_REFRESH_ABSOLUTE: 'TESSERA_REFRESH_TOKEN_ABSOLUTE_TTL',
  TESSERA_LIFETIME_REFRESH_IDLE: 'TESSERA_REFRESH_TOKEN_IDLE_TTL',
  TESSERA_LIFETIME_SESSION: 'TESSERA_SESSION_TTL',
  TESSERA_LIFETIME_SESSION_IDLE: 'TESSERA_SESSION_IDLE_TTL',
  TESSERA_LOGIN_LIMIT_ACCOUNT: 'TESSERA_LOGIN_FAILURES_PER_ACCOUNT',
  TESSERA_LOGIN_LIMIT_ADDRESS: 'TESSERA_LOGIN_FAILURES_PER_ADDRESS',
  TESSERA_LOGIN_WINDOW: 'TESSERA_LOGIN_FAILURES_WINDOW',
  TESSERA_POLL_INTERVAL: 'TESSERA_DEVICE_POLL_INTERVAL',
  TESSERA_START_LIMIT: 'TESSERA_AUTHORIZE_REQUESTS_PER_ADDRESS',
};

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
