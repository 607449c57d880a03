import { Option, type Command } from 'commander';
import { allowAdministrationOption, issuerUrl, moment, nonEmpty, takeOverOption } from '../options.ts';
import { CommandError, type CommandContext } from '../terminal.ts';
import type { Entry, ReadPeople } from './files/imported.ts';
import { contentOf } from './files/text-of-file.ts';
import type { OfTenant } from './outcome/verify-applications.ts';

/** What every import is told. */
interface Common {
  readonly dryRun: boolean;
  readonly takeOver: boolean;
  readonly allowDelete: boolean;
  readonly allowAdministration: boolean;
  readonly report?: string;
}

interface PeopleOptions extends Common {
  readonly from?: string;
  readonly hashes?: string;
  readonly nobodyHas?: string;
  readonly format?: Format;
  readonly tenant: string;
  readonly owner?: string;
}

interface KeycloakOptions extends Common {
  readonly tenant?: string;
  readonly issuer?: string;
  readonly realm?: string;
  readonly acceptWider: boolean;
  readonly keepWildcards: boolean;
  readonly redirectUris?: string;
  readonly redirectUrisTemplate: boolean;
  readonly keepShortSecrets?: Date;
  readonly verify: boolean;
  readonly signIn?: string;
}

const formats = ['json', 'csv'] as const;
type Format = (typeof formats)[number];
/** As `from/products.ts` has them, which is loaded when it is used. */
const productNames = ['auth0', 'cognito', 'entra', 'firebase', 'okta', 'supabase'];

/** Adds `import`: people and applications of other products. */
export function addImport(program: Command, context: CommandContext): void {
  const group = program.command('import').description('bring people and applications from elsewhere');
  addPeople(group, context);
  addKeycloak(group, context);
}

function addKeycloak(group: Command, context: CommandContext): void {
  withOptions(group.command('keycloak'))
    .description('a realm of Keycloak: clients, roles, and people with their passwords')
    .argument('<files...>', 'what kc.sh export wrote of the realm; - reads standard input')
    .option(
      '--tenant <id>',
      'the tenant, which is made unless it exists; default: the name of the realm',
      nonEmpty,
    )
    .option(
      '--issuer <url>',
      'the issuer of the realm, which the tenant gets, with the paths of Keycloak',
      issuerUrl,
    )
    .option('--realm <name>', 'the realm that is meant, if the files have several', nonEmpty)
    .option(
      '--accept-wider',
      'bring in full what is restricted in Keycloak in a way that has no counterpart',
      false,
    )
    .option(
      '--keep-wildcards',
      'let redirect URIs match by their beginning where a client has a wildcard after a slash',
      false,
    )
    .option('--redirect-uris <file>', 'exact redirect URIs of clients, in place of wildcards', nonEmpty)
    .option('--redirect-uris-template', 'print such a file to be filled in, and do nothing else', false)
    .option(
      '--keep-short-secrets <time>',
      'keep secrets of fewer than 32 characters until then, in ISO 8601, at most 90 days from now',
      moment,
    )
    .option('--verify', 'then try each application that is not disabled', false)
    .option('--sign-in <file>', 'with --verify: CSV of people who sign in, to be read by you alone', nonEmpty)
    .addHelpText(
      'after',
      `
What would be wider here comes disabled, until tessera application enable --take-over after the last import; people with a second
factor but no authenticator app come without their password. With
--accept-wider they come in full, and the lines say what is accepted. Every key of the files is read, without meaning here, or has a line.
A client whose secret is short, or not in the files, gets a new one, which is printed once.
--sign-in: columns username and password. Each is a sign-in as at a browser, and leaves a session.
--redirect-uris: a set of clients in YAML, each with redirectUris and logoutRedirectUris. Give it with every import.
The owner is keycloak:<realm>. A role of a client is <client>:<role>; what a group or a composite role gives, people get one by one.
The sub stays the same at the issuer of the realm, as a tenant has one of its own; elsewhere clients get it as keycloak_id.${repeated}`,
    )
    .action(async (names: readonly string[], options: KeycloakOptions) => {
      await importKeycloak(names, options, context);
    });
}

async function importKeycloak(
  names: readonly string[],
  { tenant, realm, acceptWider: acceptsWider, keepWildcards: keepsWildcards, ...options }: KeycloakOptions,
  context: CommandContext,
): Promise<void> {
  const {
    redirectUris: name,
    redirectUrisTemplate,
    keepShortSecrets,
    verify,
    signIn,
    issuer,
    ...common
  } = options;
  if (verify && common.dryRun) throw new CommandError('--verify needs an import that is no --dry-run.', 2);
  if (signIn !== undefined && !verify) throw new CommandError('--sign-in needs --verify.', 2);
  const { sourceOf } = await import('./files/json-source.ts');
  const files = await Promise.all(
    names.map(async (each) => ({ name: each, source: await sourceOf(each, context) })),
  );
  if (redirectUrisTemplate) {
    const { redirectUrisTemplate: templateOf } = await import('./keycloak/clients/exact-uris.ts');
    context.out(templateOf(files, realm));
    return;
  }
  const [{ importedRealm }, { endOfShortSecrets }, { importRecords }] = await Promise.all([
    import('./keycloak/imported-realm.ts'),
    import('./keycloak/realm/imported-secrets.ts'),
    import('./import-records.ts'),
  ]);
  const keptUntil = keepShortSecrets && endOfShortSecrets(keepShortSecrets, context.now());
  const redirectUris = name === undefined ? undefined : { name, text: await contentOf(name, context) };
  // Before anything is changed.
  const walk = signIn === undefined ? undefined : await walkingSample(signIn, context);
  const hasIssuer = issuer !== undefined;
  const read = { realm, acceptsWider, keepsWildcards, redirectUris, keptUntil, hasIssuer };
  const imported = importedRealm(files, read);
  const tenantId = tenant ?? imported.tenant;
  if (tenantId === '') throw new CommandError('No tenant may have the name of the realm. Give --tenant.', 2);
  const { applications } = await importRecords(imported, { tenant: tenantId, issuer, ...common }, context);
  if (!verify) return;
  const { verifyApplications } = await import('./outcome/verify-applications.ts');
  const areWorking = await verifyApplications(applications, { tenantId, issuer }, context);
  const areSignedIn = walk === undefined || (await walk(applications, { tenantId, issuer }));
  if (!areWorking || !areSignedIn) context.exitWith(1);
}

/** Reads who signs in. Resolves with what walks their sign-ins. */
async function walkingSample(file: string, context: CommandContext) {
  const { readSample, signInSample } = await import('./outcome/sign-in-sample.ts');
  const sample = await readSample(file, context);
  return async (applications: readonly Entry[], of: OfTenant) =>
    signInSample(sample, applications, of, context);
}

function addPeople(group: Command, context: CommandContext): void {
  withOptions(group.command('people'))
    .description('people with their password hashes, from JSON or CSV')
    .argument('<file>', '- reads standard input', nonEmpty)
    .requiredOption('--tenant <id>', 'the tenant, which must exist', nonEmpty)
    .addOption(new Option('--format <format>', 'default: how the name of the file ends').choices(formats))
    .addOption(new Option('--from <product>', 'who has written the file').choices(productNames))
    .option('--hashes <file>', 'with --from auth0: its export of password hashes', nonEmpty)
    .option('--nobody-has <keys>', 'with --from: keys that nobody has, such as blocked,multifactor', nonEmpty)
    .option('--owner <name>', 'who owns the people; default: import:<file>', nonEmpty)
    .addHelpText(
      'after',
      `
Keys are those of a user in the declared state, in CSV also attributes.<name>.
JSON: a list of people, also as \`users\` of an object. CSV: the first line names the keys; ; separates roles.
passwordHash: argon2, PBKDF2 or scrypt as PHC string, or bcrypt; the first sign-in replaces it by argon2id.
--from: the file as the product exports it, JSON also a person a line. Who may not sign in there is disabled; who has a
second factor there needs a link to set a password. The former identifier is an attribute, such as auth0Id.${repeated}`,
    )
    .action(async (file: string, { owner, format, from, hashes, nobodyHas, ...options }: PeopleOptions) => {
      const readAs = format ?? formatOf(file);
      if (from === undefined && (hashes !== undefined || nobodyHas !== undefined))
        throw new CommandError('--hashes and --nobody-has need --from.', 2);
      const { importRecords, ownerOf } = await import('./import-records.ts');
      const text = await contentOf(file, context);
      const { users, leftOut } =
        from === undefined
          ? await peopleIn(text, readAs)
          : await peopleOfProduct(text, readAs, { from, hashes, nobodyHas }, context);
      const records = { resources: [], roles: [], users, applications: [] };
      const imported = { records, leftOut, owner: owner ?? ownerOf(file), tenantName: undefined };
      await importRecords(imported, options, context);
    });
}

async function peopleIn(text: string, format: Format): Promise<ReadPeople> {
  const { peopleInCsv, peopleInJson } = await import('./files/people-file.ts');
  return format === 'csv' ? peopleInCsv(text) : peopleInJson(text);
}

/** Throws CommandError. */
async function peopleOfProduct(
  text: string,
  format: Format,
  { from, hashes, nobodyHas }: { from: string; hashes: string | undefined; nobodyHas: string | undefined },
  context: CommandContext,
): Promise<ReadPeople> {
  const [{ peopleFrom }, { hashFiles, products }] = await Promise.all([
    import('./from/people-from.ts'),
    import('./from/products.ts'),
  ]);
  const [product, hashesIn] = [products[from], hashFiles[from]];
  if (product === undefined) throw new Error(`no product ${from}`);
  if (hashes !== undefined && hashesIn === undefined)
    throw new CommandError(`${product.name} has no file of password hashes: leave out --hashes.`, 2);
  return peopleFrom(product, text, {
    format,
    nobodyHas: nobodyHas?.split(',') ?? [],
    hashes: hashes === undefined ? undefined : hashesIn?.(await contentOf(hashes, context)),
    now: context.now(),
  });
}

/** How the names of JSON and CSV end. */
const endings: Readonly<Record<string, Format>> = { csv: 'csv', json: 'json', jsonl: 'json', ndjson: 'json' };

/** By the end of a file's name. Throws CommandError if that says nothing. */
function formatOf(file: string): Format {
  const format = endings[/\.([a-z]+)$/.exec(file.toLowerCase())?.[1] ?? ''];
  if (format !== undefined) return format;
  throw new CommandError(`The name ${file} does not say the format. Give --format json or csv.`, 2);
}

const repeated = `
Nothing that is left out is silent: standard output has a line for it. A repeated import changes only what differs; what the file no
longer has is deleted with --allow-delete, otherwise it lists that and exits with code 3. One that was interrupted goes on when it is
repeated. What is named like a built-in role, scope or API
of the administration is left out; with --allow-administration it is the built-in one.`;

function withOptions(command: Command): Command {
  return command
    .option('--dry-run', 'print what would change and what is left out, and change nothing', false)
    .option(
      '--report <file>',
      'write what comes of it as an HTML page, without secrets or names of people',
      nonEmpty,
    )
    .option(...takeOverOption)
    .option('--allow-delete', 'delete people and applications that the file no longer has', false)
    .option(...allowAdministrationOption);
}
