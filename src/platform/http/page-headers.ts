import type { FastifyInstance } from 'fastify';

/** Headers of every page: it loads only the service's own files and cannot be framed. */
const PAGE_HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; " +
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
} as const;

/** Routes for programs, which serve no pages. */
const NO_PAGES = /^\/(?:api|mcp|health|\.well-known)\//;

/** Adds the headers of pages. Call before routes are registered. */
export function registerPageHeaders(fastify: FastifyInstance): void {
  fastify.addHook('onRoute', (route) => {
    if (NO_PAGES.test(route.url)) return;
    route.onRequest = [
      ...[route.onRequest ?? []].flat(),
      (_request, reply, done) => {
        reply.headers(PAGE_HEADERS);
        done();
      },
    ];
  });
}
