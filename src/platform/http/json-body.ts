import type { FastifyInstance } from 'fastify';
import secureJsonParse from 'secure-json-parse';
import { DomainError } from '../../core/domain-error.js';

/** Request bodies are limited to 1 MiB and 64 levels, well above any valid input. */
export const BODY_LIMIT_BYTES = 1_048_576;
const MAX_DEPTH = 64;

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route receives its JSON body as raw bytes and parses it. */
    keepsBytes?: boolean;
    /** Limit of the body, in place of `BODY_LIMIT_BYTES`. */
    bodyLimitBytes?: number;
  }
}

/**
 * Parses `application/json` bodies. Call before routes are registered. An empty body is `undefined`; malformed,
 * poisoned or too deep ones are rejected.
 */
export function registerJsonBody(fastify: FastifyInstance): void {
  fastify.addHook('onRoute', (route) => {
    const limit = route.config?.bodyLimitBytes;
    if (limit !== undefined) route.bodyLimit = limit;
  });
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    try {
      if (request.routeOptions.config.keepsBytes === true) done(null, body);
      else done(null, body.length === 0 ? undefined : parse(body.toString('utf8')));
    } catch (error) {
      done(error as Error);
    }
  });
}

function parse(text: string): unknown {
  if (depthOf(text) > MAX_DEPTH)
    throw new DomainError('malformed_json', `The body is nested deeper than ${MAX_DEPTH} levels.`);
  try {
    return secureJsonParse.parse(text, undefined, { protoAction: 'error', constructorAction: 'error' });
  } catch (error) {
    throw new DomainError('malformed_json', 'The body is not valid JSON.', [], { cause: error });
  }
}

/** The deepest nesting of arrays and objects, determined without recursion and before parsing. */
function depthOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  let inString = false;
  for (let i = 0; i < text.length; i++) {
    const char = text.charCodeAt(i);
    if (inString) {
      if (char === 0x5c) i++;
      else if (char === 0x22) inString = false;
    } else if (char === 0x22) inString = true;
    else if (char === 0x7b || char === 0x5b) deepest = Math.max(deepest, ++depth);
    else if (char === 0x7d || char === 0x5d) depth--;
  }
  return deepest;
}
