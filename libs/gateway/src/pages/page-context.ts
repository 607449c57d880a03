import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Gateway } from '../gateway.ts';

/** One request to a page, with what its handler works with. */
export interface PageContext {
  readonly app: FastifyInstance;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly gateway: Gateway;
}

export type PageHandler = (context: PageContext) => Promise<FastifyReply>;
