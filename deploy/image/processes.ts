/** What the image can be started as, and the module behind each word. */
export const processes: Readonly<Record<string, string>> = {
  standalone: 'apps/standalone/src/main.ts',
  gateway: 'apps/gateway/src/main.ts',
  authorize: 'apps/authorize/src/main.ts',
  token: 'apps/token/src/main.ts',
  device: 'apps/device/src/main.ts',
  keys: 'apps/keys/src/main.ts',
  directory: 'apps/directory/src/main.ts',
  admin: 'apps/admin/src/main.ts',
  controller: 'apps/controller/src/main.ts',
  /** The command of operators; what follows are its words. */
  tessera: 'apps/cli/src/main.ts',
};
