import type { FastifyRequest } from 'fastify';
import type { Dialect } from '../dialects/dialect.ts';
import type { Gateway } from '../gateway.ts';
import type { Incoming } from '../http/incoming.ts';
import type { RequestParameters } from '../dialects/request-parameters.ts';

/** A request to a body endpoint, read once and the same in both dialects. */
export interface EndpointRequest {
  readonly incoming: Incoming;
  /** As it arrived, for what waits for servers of others. */
  readonly request: FastifyRequest;
  readonly dialect: Dialect;
  readonly parameters: RequestParameters;
  /** The query as it was sent; only for addresses of ours that are handed out with one. */
  readonly query: string;
  /** The parts of the path that the route names. */
  readonly path: Readonly<Record<string, string>>;
  /** The Authorization header. */
  readonly authorization: string | undefined;
}

/** The command behind a body endpoint: returns the body of the 200, throws OAuthError. */
export type Endpoint = (request: EndpointRequest, gateway: Gateway) => Promise<object>;
