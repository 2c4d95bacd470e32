import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream';
import { Busboy } from '@fastify/busboy';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { DomainError } from '../../core/domain-error.js';
import { addOnRequest } from '../../identity/auth/early-admission.js';
import { tooLarge, type Upload } from './file-uploads.js';
import { filenameOf, safeFilename } from './filename.js';

const MULTIPART = 'multipart/form-data';
/** Under this type, the body of a route that accepts files is passed on as a stream. */
const STREAMED = 'application/octet-stream';
const LIMITS = { files: 1, fields: 16, fieldSize: 4096, headerPairs: 32 };

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route accepts a file of any type as its body, or a form with one file; `uploadOf` reads it. */
    acceptsFiles?: boolean;
  }
  interface FastifyRequest {
    /** The `Content-Type` of a file, as the client has sent it. */
    declaredType?: string;
  }
}

/**
 * Passes the bodies of routes that accept files on as they arrive, whatever their type. Every other route refuses the
 * type, as before. Call before routes are registered.
 */
export function registerFileBody(fastify: FastifyInstance): void {
  fastify.addContentTypeParser(STREAMED, (request, body, done) => {
    if (request.routeOptions.config.acceptsFiles === true) done(null, body);
    else done(new DomainError('unsupported_media_type'), undefined);
  });
  fastify.addHook('onRoute', (route) => {
    if (route.config?.acceptsFiles !== true) return;
    addOnRequest(route, (request, _reply, done) => {
      // A JSON file is not parsed, either.
      request.declaredType = request.headers['content-type'] ?? '';
      request.headers['content-type'] = STREAMED;
      done();
    });
  });
}

/**
 * The file that a request brings.
 * @throws DomainError `invalid_request` for a form without a file, `body_too_large` if the request announces more than
 *   `maxBytes`
 */
export async function uploadOf(
  { body, headers, declaredType = '' }: FastifyRequest,
  maxBytes: number,
): Promise<Upload> {
  const bytes = body as IncomingMessage;
  if (declaredType.toLowerCase().startsWith(MULTIPART)) return fileOfForm(bytes, declaredType);
  if (Number(headers['content-length'] ?? 0) > maxBytes) throw tooLarge(maxBytes);
  return { declaredType, filename: await filenameOf(headers['content-disposition']), bytes };
}

const malformed = (cause?: unknown): DomainError =>
  new DomainError('invalid_request', `The body must be a form (${MULTIPART}) with one file.`, [], { cause });

/** The bytes of a part; the parser reports the fault of a form to the reader of the part. */
async function* partOf(stream: Readable): AsyncIterable<Buffer> {
  try {
    yield* stream as AsyncIterable<Buffer>;
  } catch (error) {
    throw malformed(error);
  }
}

/** The first file of a form (RFC 7578), as soon as its bytes begin. */
function fileOfForm(body: Readable, contentType: string): Promise<Upload> {
  const { promise, resolve, reject } = Promise.withResolvers<Upload>();
  try {
    const form = new Busboy({ headers: { 'content-type': contentType }, limits: LIMITS });
    let file: Readable | undefined;
    form.on('file', (_field, stream, filename, _encoding, declaredType) => {
      file = stream;
      // The reader of the bytes gets the error; until there is one, it must not end the process.
      stream.on('error', () => undefined);
      resolve({ declaredType, filename: safeFilename(filename), bytes: partOf(stream) });
    });
    form.on('filesLimit', () => form.destroy(malformed()));
    pipeline(body, form, (error) => {
      file?.destroy(error ?? undefined);
      reject(malformed(error));
    });
  } catch (error) {
    reject(malformed(error));
  }
  return promise;
}
