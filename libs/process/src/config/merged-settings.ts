/**
 * Settings of version 0.1 that are part of another one, each with that one. Compatibility until 0.3: each works where
 * the other one does not say it, and the start warns and names the other one.
 */
export const mergedSettings: Readonly<Record<string, string>> = {
  TESSERA_APPLY_ALLOW_ADMINISTRATION: 'TESSERA_APPLY_ALLOW',
  TESSERA_APPLY_ALLOW_DELETE: 'TESSERA_APPLY_ALLOW',
  TESSERA_PEER_AUTHORIZE: 'TESSERA_PEERS',
  TESSERA_PEER_DEVICE: 'TESSERA_PEERS',
  TESSERA_PEER_DIRECTORY: 'TESSERA_PEERS',
  TESSERA_PEER_KEYS: 'TESSERA_PEERS',
  TESSERA_PEER_TOKEN: 'TESSERA_PEERS',
  TESSERA_PROVIDERS_ALLOW_PRIVATE: 'TESSERA_ALLOW_PRIVATE',
  TESSERA_REDIS_CA: 'TESSERA_REDIS_TLS_DIR',
  TESSERA_REDIS_CERT: 'TESSERA_REDIS_TLS_DIR',
  TESSERA_REDIS_KEY: 'TESSERA_REDIS_TLS_DIR',
  TESSERA_RPC_TLS_CA: 'TESSERA_RPC_TLS_DIR',
  TESSERA_RPC_TLS_CERT: 'TESSERA_RPC_TLS_DIR',
  TESSERA_RPC_TLS_KEY: 'TESSERA_RPC_TLS_DIR',
  TESSERA_WEBHOOK_ALLOW_PRIVATE: 'TESSERA_ALLOW_PRIVATE',
};

/** Those that an environment uses, themselves or with `_FILE`. */
export function mergedNames(
  environment: Readonly<Record<string, string | undefined>>,
): readonly { readonly former: string; readonly present: string }[] {
  return Object.entries(mergedSettings).flatMap(([name, present]) =>
    [name, `${name}_FILE`]
      .filter((former) => (environment[former] ?? '') !== '')
      .map((former) => ({ former, present })),
  );
}
