import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { PageFacts, PageFile, PageHandler as HandlerOf, PageRow } from '@tessera/pages';
import type { Gateway } from '../gateway.ts';

/**
 * Who may see a page of people: anyone, or a person who is signed in. Pages of persons ask others to sign in, at their
 * own paths.
 */
export type Who = 'anyone' | 'person';

/** One request to a page, with what its handler works with. */
export interface PageContext {
  readonly app: FastifyInstance;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly gateway: Gateway;
  /** What the table says of the page. */
  readonly row: PageFacts<Who>;
  /** All of the table, for the navigation. */
  readonly rows: readonly PageFacts<Who>[];
}

export type PageHandler = HandlerOf<PageContext>;
export type GatewayPage = PageFile<PageContext>;
export type GatewayPageRow = PageRow<PageContext, Who>;
