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
  return /^TESSERA_\w+$/.test(now)
    ? `Use ${now} instead: ${name} no longer has an effect.`
    : `Remove ${name}: it no longer has an effect. In its place there is ${now}.`;
}

function settingOf(name: string): string | undefined {
  return [name, name.replace(/_FILE$/, '')].find((one) => Object.hasOwn(removedSettings, one));
}
