import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { SwaggerModule } from '@nestjs/swagger';
import { version } from '../version.js';
import { createOpenApiDocument } from './openapi-document.js';

/** Serves the document at `/openapi.json` and a readable page over it at `/docs`. It is built at the first request. */
export function serveOpenApi(app: NestFastifyApplication): void {
  SwaggerModule.setup('docs', app, () => createOpenApiDocument(app, version), {
    jsonDocumentUrl: 'openapi.json',
    customSiteTitle: 'Signalbox API',
  });
}
