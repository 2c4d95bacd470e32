import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import fastifyStatic from '@fastify/static';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { CONSOLE_PATH } from '../platform/pages/home.controller.js';

/** The build of `web/`: next to the compiled service, or in the current build if the service runs from its sources. */
const FOLDERS = ['../web/', '../../dist/web/'].map((path) => fileURLToPath(new URL(path, import.meta.url)));
const NONCE = '__CSP_NONCE__';
/** Before the path of the picture that other sites show beside a link. */
const PICTURE = '<meta property="og:image" content="';
const YEAR_S = 365 * 24 * 3600;

/**
 * What the console's page can do: run and load only the service's own files, talk only to the service, and turn no text
 * into markup or code (Trusted Types). The nonce is for the style element that Radix adds while a dialog is open.
 */
function policyWith(nonce: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "font-src 'self'",
    "media-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ');
}

/**
 * Serves the console: its hashed, precompressed files below `/console/assets/`, and its page at every other address
 * below `/console`, since the page itself finds the view. Call before the application listens.
 * @param baseUrl where callers find the service, once it listens
 * @throws Error if the service was built without the console
 */
export function serveConsole(fastify: FastifyInstance, baseUrl: () => string): void {
  const folder = FOLDERS.find((path) => existsSync(join(path, 'index.html')));
  if (folder === undefined) throw new Error('The console has not been built: run `npm run build`, or set CONSOLE=off.');
  const [head = '', tail = ''] = readFileSync(join(folder, 'index.html'), 'utf8').split(NONCE);
  const sendPage = (_request: unknown, reply: FastifyReply): void => {
    const nonce = randomBytes(16).toString('base64url');
    void reply
      .header('content-security-policy', policyWith(nonce))
      .header('cache-control', 'no-cache')
      .type('text/html; charset=utf-8')
      .send(head + nonce + tail.replace(PICTURE, () => PICTURE + baseUrl()));
  };
  fastify.get(CONSOLE_PATH, sendPage);
  fastify.get(`${CONSOLE_PATH}/*`, sendPage);
  void fastify.register(fastifyStatic, {
    root: join(folder, 'assets'),
    prefix: `${CONSOLE_PATH}/assets/`,
    decorateReply: false,
    index: false,
    preCompressed: true,
    immutable: true,
    maxAge: YEAR_S * 1000,
  });
}
