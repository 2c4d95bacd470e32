import type { INestApplication } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { ICON_PATH, REFERENCE_STYLESHEET_PATH } from '../../platform/pages/face.js';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { RouteAccessTable } from '../../identity/auth/route-access-table.js';
import { ERROR_CODES } from '../../core/error-codes.js';
import type { JsonSchema } from '../../core/validation/schema-of.js';
import { version } from '../../core/version.js';
import { type RegisteredTool, ToolRegistry } from '../tools/tool-registry.js';
import { ComponentSchemas } from './component-schemas.js';
import { OperationExamples } from './operation-examples.js';
import { INTRODUCTION, MAIN_FLOW, MAIN_FLOW_TAG, OPERATION_IDS, outlineOf, topicOf } from './reference-outline.js';
import { describeRoute } from './route-responses.js';
import { STREAM_SCHEMAS } from './stream-schemas.js';

type PathItem = OpenAPIObject['paths'][string];
type Operation = NonNullable<PathItem['post']>;
type Document = OpenAPIObject;

const TEXT = { type: 'string' };
const FAULT = {
  type: 'object',
  required: ['path', 'code', 'message'],
  properties: { path: TEXT, code: TEXT, message: TEXT },
};

/** An error outside JSON-RPC (RFC 9457). */
const PROBLEM: JsonSchema = {
  type: 'object',
  description: 'An RFC 9457 problem document. Branch on `code`, which keeps its meaning.',
  required: ['type', 'title', 'status', 'detail', 'code', 'request_id'],
  properties: {
    type: TEXT,
    title: TEXT,
    status: { type: 'integer' },
    detail: TEXT,
    code: { type: 'string', enum: Object.keys(ERROR_CODES) },
    request_id: TEXT,
    errors: { type: 'array', items: FAULT },
  },
};

const PROBLEM_EXAMPLE = {
  type: 'urn:signalbox:error:invalid_request',
  title: 'The request is not valid',
  status: 400,
  detail: 'data.title: Must be a string.',
  code: 'invalid_request',
  request_id: '0198f0a0-0000-7000-8000-000000000001',
  errors: [{ path: 'data.title', code: 'is_string', message: 'Must be a string.' }],
};

/** The OpenAPI document: the routes of the controllers, and one path for each management tool. */
function createOpenApiDocument(app: INestApplication, version: string): Document {
  const base = new DocumentBuilder()
    // The schemas are JSON Schema 2020-12 (nullable properties use the type null), which OpenAPI 3.0 does not support.
    .setOpenAPIVersion('3.1.0')
    .setTitle('Signalbox')
    .setDescription(INTRODUCTION)
    .setVersion(version)
    .setLicense('Apache-2.0', 'https://www.apache.org/licenses/LICENSE-2.0')
    .addServer('/', 'This service')
    .addBearerAuth({ type: 'http', scheme: 'bearer', description: 'An API key (`sbx_…`).' })
    .addSecurityRequirements('bearer')
    .build();
  const document = SwaggerModule.createDocument(app, base, {
    operationIdFactory: (controller, method) => OPERATION_IDS[`${controller}_${method}`] ?? `${controller}_${method}`,
  });
  const schemas = new ComponentSchemas({ Problem: PROBLEM, ...STREAM_SCHEMAS });
  const examples = new OperationExamples(schemas);
  const access = app.get(RouteAccessTable, { strict: false });
  const registry = app.get(ToolRegistry, { strict: false });
  for (const [path, item] of Object.entries(document.paths)) {
    for (const [method, operation] of operationsOf(item)) {
      const route = access.find([method.toUpperCase()], path.replaceAll(/\{(\w+)\}/g, ':$1'));
      describeRoute(operation, route?.access ?? 'public', schemas);
    }
  }
  const toolPaths = registry
    .all()
    .map((tool) => [`/api/{org}/tools/${tool.definition.name}`, toolPath(tool, schemas)] as const);
  const paths = inOrder({ ...Object.fromEntries(toolPaths), ...document.paths });
  const operations = Object.values(paths).flatMap((item) => operationsOf(item).map(([, operation]) => operation));
  for (const operation of operations) examples.addTo(operation);
  return {
    ...document,
    paths,
    tags: outlineOf(new Set(operations.flatMap(({ tags = [] }) => tags))),
    components: {
      ...document.components,
      schemas: schemas.all(),
      responses: {
        Problem: {
          description: 'An RFC 9457 problem document',
          content: {
            'application/problem+json': {
              schema: { $ref: '#/components/schemas/Problem' },
              example: PROBLEM_EXAMPLE,
            },
          },
        },
      },
    },
  };
}

function toolPath({ definition }: RegisteredTool, schemas: ComponentSchemas): PathItem {
  return {
    post: {
      operationId: definition.name,
      summary: definition.description,
      tags: [topicOf(definition.name)],
      parameters: [
        { name: 'org', in: 'path', required: true, schema: { type: 'string' }, description: 'Organization slug' },
      ],
      requestBody: { required: true, content: { 'application/json': { schema: schemas.refTo(definition.input) } } },
      responses: {
        '200': {
          description: 'The tool’s output',
          content: { 'application/json': { schema: schemas.refTo(definition.output) } },
        },
        default: { $ref: '#/components/responses/Problem' },
      },
    },
  };
}

/** The paths of the main flow first, under a tag of their own besides that of their topic. */
function inOrder(paths: Document['paths']): Document['paths'] {
  const entries = Object.entries(paths);
  const flow = MAIN_FLOW.flatMap((id) => entries.filter(([, item]) => idsOf(item).includes(id)));
  for (const [, item] of flow) {
    for (const [, operation] of operationsOf(item)) {
      if (!MAIN_FLOW.includes(operation.operationId ?? '')) continue;
      operation.tags = [MAIN_FLOW_TAG, ...(operation.tags ?? [])];
    }
  }
  return Object.fromEntries([...flow, ...entries.filter((entry) => !flow.includes(entry))]);
}

function idsOf(item: PathItem): (string | undefined)[] {
  return operationsOf(item).map(([, { operationId }]) => operationId);
}

function operationsOf(item: PathItem): [method: string, operation: Operation][] {
  return Object.entries(item).filter((entry): entry is [string, Operation] => 'responses' in (entry[1] as object));
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
  SwaggerModule.setup('docs', app, document, {
    raw: false,
    customSiteTitle: 'Signalbox API',
    customCssUrl: REFERENCE_STYLESHEET_PATH,
    customfavIcon: ICON_PATH,
  });
}

function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}
