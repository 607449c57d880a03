/**
 * What people can prove and change of themselves, and what is written to them: passwords, passkeys, authenticator apps,
 * recovery codes, identities at providers, links, registrations, mail. It lives in the process and the schema of the
 * directory, whose room of records it stands on; the arrow never runs back. It composes that process. It never keeps a
 * record of its own kind, and never says who exists.
 *
 *     authorize, gateway ══> DirectoryService, PersonService; operator ══> UsersService, MailService, BootstrapService
 *       └─> wiring ─┬─> openDirectory, the room of records
 *                   └─> service ─> password/ passkey/ totp/ recovery/ identity/   a way in each
 *                       account/ what people change of themselves ─> registration/ ─> links/ ─> ways in ─> change/
 *     bootstrap/ the first administrator ─> links/; every change that people hear of ─> mail/ an outbox ──> SMTP
 */
export { bootstrapAtStart } from './bootstrap/bootstrap-at-start.ts';
export { buildDirectory, type DirectoryOptions } from './wiring.ts';
export {
  directoryProcessConfig,
  peopleConfig,
  type DirectoryProcessConfig,
  type PeopleConfig,
} from './config.ts';
export type { MailTransport } from './mail/smtp.ts';
export { findRefusedHashes, type RefusedHashes } from './password/refused-hashes.ts';
