import type { FastifyInstance, FastifyRequest } from 'fastify';
import { DomainError } from '../../core/domain-error.js';

/** The hidden field of every form, for `CsrfTokens`. */
export const CSRF_FIELD = 'csrf_token';
/** In the query of the sign-in: a person who is signed in has to sign in again. */
export const AGAIN_FIELD = 'again';

const FORM_TYPE = 'application/x-www-form-urlencoded';
/** Far above what a form of ours sends. */
const BODY_LIMIT_BYTES = 64 * 1024;
const MAX_FIELDS = 100;

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route accepts the body of an HTML form; `fieldOf` reads it. */
    acceptsForms?: boolean;
  }
}

/**
 * Parses the bodies of HTML forms, on routes that accept them. Every other route refuses the media type: a form of a
 * foreign web page can send it without a preflight.
 */
export function registerFormBody(fastify: FastifyInstance): void {
  const options = { parseAs: 'buffer', bodyLimit: BODY_LIMIT_BYTES } as const;
  fastify.addContentTypeParser(FORM_TYPE, options, (request, body: Buffer, done) => {
    if (request.routeOptions.config.acceptsForms === true) parse(body.toString('utf8'), done);
    else done(new DomainError('unsupported_media_type'));
  });
}

function parse(text: string, done: (error: Error | null, body?: URLSearchParams) => void): void {
  const fields = new URLSearchParams(text);
  const values = [...fields].flat();
  const isUsable = fields.size <= MAX_FIELDS && values.every((value) => !value.includes('\u0000'));
  if (isUsable) done(null, fields);
  else done(new DomainError('invalid_request', 'The form is malformed.'));
}

/** The text of a field of a posted form; empty if it is absent or if the body is not a form. */
export function fieldOf({ body }: FastifyRequest, name: string): string {
  return body instanceof URLSearchParams ? (body.get(name) ?? '') : '';
}

/** The text of a query parameter; empty if it is absent or repeated. */
export function queryOf({ query }: FastifyRequest, name: string): string {
  const value = (query as Readonly<Record<string, unknown>>)[name];
  return typeof value === 'string' && !value.includes('\u0000') ? value : '';
}
