import table from './removed-settings.json' with { type: 'json' };

/**
 * Settings of earlier versions, each with what holds in its place. They are no mistake in an environment, and have no
 * effect.
 */
export const removedSettings: Readonly<Record<string, string>> = table;

/** Whether a name, or what it names with `_FILE`, is one of them. */
export function isRemoved(name: string): boolean {
  return settingOf(name) !== undefined;
}

/** One sentence for each of them that an environment has. */
export function removedNames(
  environment: Readonly<Record<string, string | undefined>>,
): readonly { readonly name: string; readonly sentence: string }[] {
  return Object.keys(environment).flatMap((name) => {
    const setting = settingOf(name);
    if (setting === undefined || (environment[name] ?? '') === '') return [];
    return [{ name, sentence: sentenceOn(name, removedSettings[setting] ?? '') }];
  });
}

/** @param now what holds in its place: another setting, a part or a multiple of one, or a fixed value */
function sentenceOn(name: string, now: string): string {
  const other = /TESSERA_\w+/.exec(now)?.[0];
  if (other === undefined) return `Remove ${name}: it has no effect any more. Its value is always ${now}.`;
  const use = `Use ${other} instead: ${name} has no effect any more.`;
  return other === now ? use : `${use} Its value is ${now}.`;
}

function settingOf(name: string): string | undefined {
  return [name, name.replace(/_FILE$/, '')].find((one) => Object.hasOwn(removedSettings, one));
}
