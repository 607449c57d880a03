import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Gateway } from '../gateway.ts';

/** One request to a page. */
export interface Visit {
  readonly app: FastifyInstance;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly gateway: Gateway;
}

export type PageHandler = (visit: Visit) => Promise<FastifyReply>;
