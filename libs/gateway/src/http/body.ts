import type { FastifyRequest } from 'fastify';
import { parseForm, readSentBody, type MediaType, type Readers, type SentBody } from '@tessera/pages';
import { contractNotes } from '../dialects/contract.ts';
import { contractNames } from '../dialects/parameter-names.ts';
import { parseJson } from './parameters.ts';

/** The members that a body of the contract may have. */
const contractMembers: ReadonlySet<string> = new Set(contractNames.values());

const readers: Required<Readers> = {
  json: (text, ignored) => parseJson(text, contractMembers, contractNotes, ignored),
  form: (text) => parseForm(text),
};

/** Reads the body of a request, which must be of an `accepted` type. Throws as `readSentBody`. */
export function readBody(request: FastifyRequest, accepted: readonly MediaType[]): SentBody {
  return readSentBody(request, Object.fromEntries(accepted.map((type) => [type, readers[type]])));
}
