import type { DirectoryService } from '@tessera/proto-gen/directory';
import type { Client } from '@tessera/rpc';
import { URI, type TOTP } from 'otpauth';
import { call } from './start-directory.ts';

interface Person {
  readonly tenantId: string;
  readonly userId: string;
}

/** An app and recovery codes as a page shows them, with what `AdoptProposal` takes. */
export async function proposedApp(
  authorize: Client<typeof DirectoryService>,
  person: Person,
  seed = 'a-seed',
) {
  const { uri } = await authorize.proposeTotp({ ...person, seed }, call());
  const code = (URI.parse(uri) as TOTP).generate();
  const { timeStep } = await authorize.verifyProposedTotp({ ...person, seed, code }, call());
  if (timeStep === undefined) throw new Error('The first code was refused.');
  return { ...person, seed, timeStep };
}

/** Enrols an app with recovery codes. */
export async function enrolApp(
  authorize: Client<typeof DirectoryService>,
  person: Person,
  seed?: string,
): Promise<void> {
  await authorize.adoptProposal(await proposedApp(authorize, person, seed), call());
}

/** Makes recovery codes in place of all earlier ones. Resolves with them, or with none if the person has no factor. */
export async function newRecoveryCodes(
  authorize: Client<typeof DirectoryService>,
  person: Person,
  seed: string,
): Promise<readonly string[]> {
  const { codes } = await authorize.proposeRecoveryCodes({ ...person, seed }, call());
  const { user } = await authorize.adoptProposal({ ...person, seed }, call());
  return user === undefined ? [] : codes;
}
