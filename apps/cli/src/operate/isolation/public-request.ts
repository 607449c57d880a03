import { endpointPaths, otherPaths } from '@tessera/oauth';
import type { Fields, Page } from './browser.ts';
import type { Answer } from './crossing.ts';
import type { Party } from './party.ts';

/** A request of a client or a person. */
export interface PublicRequest {
  readonly path: string;
  readonly what: string;
  values(of: Party): Promise<Fields>;
  ask(as: Party, values: Fields, owner: Party, owned: Fields): Promise<Answer>;
  readonly apart?: true;
  readonly open?: readonly string[];
  /** At the shared issuer anybody brings these values for their owner. */
  readonly atOwnIssuer?: true;
}

/** The paths of the server. */
export const at = { ...endpointPaths, ...otherPaths };
export const deviceGrant = { grant_type: 'urn:ietf:params:oauth:grant-type:device_code' };
export const cibaGrant = { grant_type: 'urn:openid:params:grant-type:ciba' };

/** An answer that is no page. */
export const said = (words: string): Answer => ({ words, text: '' });
export const all = (...answers: readonly Answer[]): Answer => ({
  words: answers.map(({ words }) => words).join(', '),
  text: answers.map(({ text }) => text).join(),
});

/** Of the first form that has it; '' if none has. */
export const fieldOf = (forms: Page['forms'], name: string): string =>
  forms.map(({ fields }) => fields[name]).find((value) => value !== undefined) ?? '';
