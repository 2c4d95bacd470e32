import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { ERROR_CODES } from '../common/error-codes.js';
import { type RegisteredTool, ToolRegistry } from '../tools/tool-registry.js';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyReply } from 'fastify';
import { version } from '../common/version.js';

type ResponseObject = NonNullable<NonNullable<OpenAPIObject['components']>['responses']>[string];
type PathItem = OpenAPIObject['paths'][string];

const PROBLEM = { $ref: '#/components/responses/Problem' };

/** The OpenAPI document: the routes of the controllers, and one path for each management tool. */
export function createOpenApiDocument(app: INestApplication, version: string): OpenAPIObject {
  const base = new DocumentBuilder()
    // The schemas are JSON Schema 2020-12 (nullable properties use the type null), which OpenAPI 3.0 does not support.
    .setOpenAPIVersion('3.1.0')
    .setTitle('Signalbox')
    .setDescription('Run AI agents over HTTP, and proxy calls between MCP clients and MCP servers.')
    .setVersion(version)
    .addBearerAuth({ type: 'http', scheme: 'bearer', description: 'An API key (`sbx_…`).' })
    .addSecurityRequirements('bearer')
    .build();
  const document = SwaggerModule.createDocument(app, base);
  const registry = app.get(ToolRegistry, { strict: false });
  const toolPaths = registry.all().map((tool) => [`/api/{org}/tools/${tool.definition.name}`, toolPath(tool)] as const);
  return {
    ...document,
    paths: { ...Object.fromEntries(toolPaths), ...document.paths },
    components: { ...document.components, responses: { Problem: problemResponse() } },
  };
}

function toolPath({ definition, inputSchema, outputSchema }: RegisteredTool): PathItem {
  return {
    post: {
      operationId: definition.name,
      summary: definition.description,
      tags: [tagOf(definition.name)],
      parameters: [
        { name: 'org', in: 'path', required: true, schema: { type: 'string' }, description: 'Organization slug' },
      ],
      requestBody: { required: true, content: { 'application/json': { schema: inputSchema } } },
      responses: {
        '200': { description: 'The tool’s output', content: { 'application/json': { schema: outputSchema } } },
        default: PROBLEM,
      },
    },
  };
}

/** `COLLECTION_THREADS_GET` → `threads`, `API_KEY_LIST` → `api key`. */
function tagOf(name: string): string {
  return name
    .replace(/^COLLECTION_/, '')
    .replace(/_(?:CREATE|LIST|GET|UPDATE|DELETE|TEST|SET|CANCEL)$/, '')
    .replaceAll('_', ' ')
    .toLowerCase();
}

function problemResponse(): ResponseObject {
  const text = { type: 'string' };
  const fault = { type: 'object', properties: { path: text, code: text, message: text } };
  return {
    description: 'An RFC 9457 problem document',
    content: {
      'application/problem+json': {
        schema: {
          type: 'object',
          required: ['type', 'title', 'status', 'detail', 'code', 'request_id'],
          properties: {
            type: text,
            title: text,
            status: { type: 'integer' },
            detail: text,
            code: { type: 'string', enum: Object.keys(ERROR_CODES) },
            request_id: text,
            errors: { type: 'array', items: fault },
          },
        },
      },
    },
  };
}

/**
 * Serves the document at `/openapi.json` and a readable page of it at `/docs`. The document is built at the first
 * request.
 */
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
