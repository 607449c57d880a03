import { field } from '../fields/field.ts';
import { callbackUri, line, texts } from '../fields/values.ts';

/** What people read of an application when they are asked for consent, and at their account. */
export const shownFields = {
  description: field({
    schema: line(500).default(''),
    stored: 'text',
    reference:
      'what it is for, one line; people read it when they are asked for consent, and at their account',
  }),
  descriptions: field({
    schema: texts(500),
    stored: 'jsonb',
    reference:
      'the same by language, `{de: ..., ar: ...}`: a page shows the one in its own language, else `description`',
  }),
  publisher: field({
    schema: line(200).default(''),
    stored: 'text',
    reference: 'who makes it; people read it when they are asked for consent',
  }),
  homepage: field({
    schema: callbackUri.default(''),
    stored: 'text',
    reference: 'its https address, shown beside the publisher',
  }),
};
