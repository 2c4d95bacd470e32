import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { SwaggerModule } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { version } from '../common/version.js';
import { createOpenApiDocument } from './openapi-document.js';

/** Serves the document at `/openapi.json` and a readable page over it at `/docs`. It is built and written at the first request. */
export function serveOpenApi(app: NestFastifyApplication): void {
  const document = once(() => createOpenApiDocument(app, version));
  const text = once(() => JSON.stringify(document()));
  app.getHttpAdapter().get('/openapi.json', (_request: unknown, reply: FastifyReply) => {
    void reply.type('application/json').send(text());
  });
  SwaggerModule.setup('docs', app, document, { raw: false, customSiteTitle: 'Signalbox API' });
}

function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}
