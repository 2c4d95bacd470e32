import { beforeAll, describe, expect, it } from '@jest/globals';
import addFormats from 'ajv-formats';
import { Ajv2020 } from 'ajv/dist/2020.js';
import supertest from 'supertest';
import { ERROR_CODES } from '../../../src/core/error-codes.js';
import { ToolRegistry } from '../../../src/api/tools/tool-registry.js';
import { startTestApp } from '../../support/app.js';
import { useStarted } from '../../support/use-started.js';

type Json = { [key: string]: unknown };

interface Media {
  schema: Json;
  example?: unknown;
}

interface Operation {
  operationId: string;
  summary?: string;
  tags?: string[];
  security?: Json[];
  parameters?: { name: string; in: string; required?: boolean; schema?: Json }[];
  requestBody?: { content: Record<string, Media> };
  responses: Record<string, Json & { content?: Record<string, Media> }>;
}

interface Document {
  openapi: string;
  info: { title: string; version: string; description: string };
  paths: Record<string, Record<string, Operation>>;
  components: { securitySchemes: Json; schemas: Record<string, Json>; responses: { Problem: Json } };
  tags: { name: string; description?: string }[];
  security: Json[];
}

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'];
const TYPES = ['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'];

const service = useStarted(startTestApp);
let document: Document;

beforeAll(async () => {
  document = (await supertest(service.url).get('/openapi.json').expect(200)).body as Document;
});

function operations(): { path: string; method: string; operation: Operation }[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ path, method, operation })),
  );
}

/** Every object in the document with its path. */
function* objectsIn(value: unknown, path = '#'): Generator<{ path: string; object: Json }> {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) yield { path, object: value as Json };
  for (const [key, member] of Object.entries(value)) yield* objectsIn(member, `${path}/${key}`);
}

function resolve(pointer: string): unknown {
  return pointer
    .split('/')
    .slice(1)
    .reduce<unknown>((value, key) => (value as Json | undefined)?.[key], document);
}

/** The schema behind a reference. */
function behind(schema: Json | undefined): Json | undefined {
  const reference = schema?.['$ref'];
  return typeof reference === 'string' ? (resolve(reference) as Json) : schema;
}

const bodyOf = (operation: Operation | undefined): Json | undefined =>
  behind(operation?.requestBody?.content['application/json']?.schema);
const outputOf = (operation: Operation | undefined, status = '200'): Json | undefined =>
  behind(operation?.responses[status]?.content?.['application/json']?.schema);

describe('/openapi.json', () => {
  it('is an OpenAPI 3.1 document with bearer security', () => {
    expect(document).toMatchObject({
      openapi: '3.1.0',
      info: { title: 'Signalbox', version: expect.stringMatching(/^\d+\.\d+\.\d+/) },
      security: [{ bearer: [] }],
      components: { securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } } },
    });
  });

  it('has well-formed operations whose path parameters are all declared', () => {
    for (const { path, method, operation } of operations()) {
      const where = `${method} ${path}`;
      expect({ where, known: METHODS.includes(method) }).toEqual({ where, known: true });
      expect({ where, responses: Object.keys(operation.responses).length > 0 }).toEqual({ where, responses: true });
      const inPath = (operation.parameters ?? []).filter((parameter) => parameter.in === 'path');
      expect({ where, names: inPath.map(({ name }) => name).sort() }).toEqual({
        where,
        names: [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).sort(),
      });
      expect(inPath.every(({ required, schema }) => required === true && schema !== undefined)).toBe(true);
    }
  });

  it('has unique operation ids', () => {
    const ids = operations().map(({ operation }) => operation.operationId);
    expect(ids.every((id) => typeof id === 'string' && id !== '')).toBe(true);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('has no dangling reference', () => {
    const references = [...objectsIn(document)].flatMap(({ object }) =>
      typeof object['$ref'] === 'string' ? [object['$ref']] : [],
    );
    expect(references).toContain('#/components/responses/Problem');
    for (const reference of references)
      expect({ reference, target: resolve(reference) }).not.toHaveProperty('target', undefined);
  });

  it('has every management tool with closed schemas of known types', () => {
    const registered = service.app.get(ToolRegistry, { strict: false }).all();
    expect(registered.length).toBeGreaterThan(25);
    for (const { definition } of registered) {
      const operation = document.paths[`/api/{org}/tools/${definition.name}`]?.['post'];
      expect(operation).toMatchObject({ operationId: definition.name, summary: definition.description });
      const input = bodyOf(operation);
      expect({ name: definition.name, input }).toMatchObject({
        input: { type: 'object', additionalProperties: false },
      });
      expect(outputOf(operation)).toMatchObject({ type: 'object' });
    }
    const schemas = operations().flatMap(({ operation }) => {
      const bodies = [operation.requestBody, ...Object.values(operation.responses)];
      return bodies.flatMap((body): Json[] => {
        const schema = body?.content?.['application/json']?.schema;
        return schema === undefined ? [] : [schema];
      });
    });
    const named = schemas.filter((schema) => '$ref' in schema).length;
    // All but those of health and of the arguments of any tool.
    expect(schemas.length - named).toBeLessThanOrEqual(4);
    for (const schema of Object.values(document.components.schemas)) {
      for (const { path, object } of objectsIn(schema)) {
        if (!/properties\/\w+$|items$|schema$/.test(path) || object['type'] === undefined) continue;
        expect({ path, known: [object['type']].flat().every((type) => TYPES.includes(String(type))) }).toEqual({
          path,
          known: true,
        });
        const { required = [], properties = {} } = object as { required?: string[]; properties?: Json };
        expect({ path, missing: required.filter((name) => !(name in properties)) }).toEqual({ path, missing: [] });
      }
    }
  });

  it('marks optional properties', () => {
    const schemaOf = (name: string): Json | undefined => bodyOf(document.paths[`/api/{org}/tools/${name}`]?.['post']);
    expect(schemaOf('API_KEY_CREATE')).toMatchObject({
      properties: { name: { type: 'string', minLength: 1, maxLength: 64 }, expiresIn: { type: 'integer', minimum: 1 } },
      required: ['name', 'permissions'],
    });
    expect(schemaOf('COLLECTION_THREADS_CREATE')).toMatchObject({
      properties: { data: { $ref: '#/components/schemas/ThreadCreateData' } },
      required: ['data'],
    });
    expect(document.components.schemas['ThreadCreateData']).toMatchObject({
      type: 'object',
      required: ['title', 'virtual_mcp_id'],
      additionalProperties: false,
    });
    expect(schemaOf('AI_PROVIDER_LIST')).toEqual({ type: 'object', properties: {}, additionalProperties: false });
  });

  it('lists every error code', () => {
    const content = (document.components.responses.Problem as { content: Json }).content;
    expect(content['application/problem+json']).toMatchObject({ schema: { $ref: '#/components/schemas/Problem' } });
    expect(document.components.schemas['Problem']).toMatchObject({
      properties: { code: { enum: Object.keys(ERROR_CODES) } },
    });
  });

  it('has the run and stream routes', () => {
    const thread = '/api/{org}/agent-runtime/threads/{threadId}';
    const posting = document.paths[`${thread}/messages`]?.['post'];
    expect(bodyOf(posting)).toMatchObject({ required: ['messages', 'agent'], additionalProperties: false });
    const chunk = { $ref: '#/components/schemas/UiMessageChunk' };
    expect(posting?.responses).toMatchObject({
      200: {
        content: {
          'text/event-stream': { schema: { contentSchema: chunk } },
          'application/json': { schema: { $ref: '#/components/schemas/RunResult' } },
        },
      },
      202: { content: { 'application/json': { schema: { $ref: '#/components/schemas/RunAccepted' } } } },
      default: { $ref: '#/components/responses/Problem' },
    });
    expect(posting?.parameters?.map(({ name }) => name)).toEqual(expect.arrayContaining(['Prefer', 'Idempotency-Key']));
    expect(document.paths[`${thread}/regenerate`]?.['post']?.responses).toEqual(posting?.responses);
    const steering = document.paths[`${thread}/steer`]?.['post'];
    expect(steering?.responses).toEqual({ ...posting?.responses, 202: expect.anything() });
    expect(steering?.responses).toMatchObject({
      202: { content: { 'application/json': { schema: { $ref: '#/components/schemas/SteerAccepted' } } } },
    });
    expect(steering?.parameters?.map(({ name }) => name)).toContain('interrupt');
    const run = document.paths['/api/{org}/agent-runtime/runs/{taskId}']?.['get'];
    expect(run?.parameters?.map(({ name }) => name)).toEqual(expect.arrayContaining(['org', 'taskId', 'wait']));
    expect(document.paths[`${thread}/stream`]?.['get']).toBeDefined();
    expect(document.paths[`${thread}/cancel`]?.['post']).toBeDefined();
  });
});

describe('the reference', () => {
  const byId = (id: string): Operation | undefined =>
    operations().find(({ operation }) => operation.operationId === id)?.operation;

  it('shows the main flow first, with an introduction', () => {
    expect(document.info.description).toContain('**The main flow**');
    expect(document.tags[0]).toEqual({ name: 'main flow', description: expect.any(String) });
    const flow = operations().filter(({ operation }) => operation.tags?.[0] === 'main flow');
    expect(flow).toEqual(operations().slice(0, flow.length));
    expect(flow.map(({ operation }) => operation.operationId)).toEqual([
      'COLLECTION_CONNECTIONS_CREATE',
      'CONNECTION_TEST',
      'COLLECTION_VIRTUAL_MCP_CREATE',
      'COLLECTION_THREADS_CREATE',
      'postMessage',
      'streamThread',
      'getRun',
      'COLLECTION_THREAD_MESSAGES_LIST',
    ]);
    const used = operations().flatMap(({ operation }) => operation.tags ?? []);
    expect(document.tags.map(({ name }) => name).sort()).toEqual([...new Set(used)].sort());
  });

  it('names the server, and has only schemas that other languages can read', () => {
    expect(document).toMatchObject({ servers: [{ url: expect.stringMatching(/^\S+$/) }] });
    const registered = service.app.get(ToolRegistry, { strict: false }).all();
    const schemas = [document, registered.map(({ inputSchema, outputSchema }) => [inputSchema, outputSchema])];
    for (const { path, object } of schemas.flatMap((schema) => [...objectsIn(schema)])) {
      const { pattern, anyOf, oneOf } = object;
      // Classes of Unicode and the octal escape mean something else, or nothing, in other languages.
      if (typeof pattern === 'string')
        expect({ path, pattern }).toEqual({ path, pattern: expect.not.stringMatching(/\\[pP]\{|\\0/) });
      for (const choices of [anyOf, oneOf].filter(Array.isArray)) {
        expect({
          path,
          isEmpty: choices.length === 0 || choices.some((one) => Object.keys(one as Json).length === 0),
        }).toEqual({
          path,
          isEmpty: false,
        });
      }
    }
  });

  // Validators of other tools compile patterns without Unicode.
  it.each([true, false])(
    'has an example for every body, response and path parameter, which fits its schema (Unicode: %s)',
    (unicodeRegExp) => {
      const ajv = new Ajv2020({ strict: false, unicodeRegExp });
      addFormats.default(ajv);
      ajv.addSchema({ $id: 'reference', components: document.components });
      const absolute = (schema: Json): Json =>
        JSON.parse(JSON.stringify(schema).replaceAll('"#/components', '"reference#/components')) as Json;
      for (const { operation } of operations()) {
        const id = operation.operationId;
        const media = [operation.requestBody, ...Object.values(operation.responses)].flatMap((part) =>
          Object.values(part?.content ?? {}),
        );
        for (const { schema, example } of media) {
          expect({ id, example }).not.toHaveProperty('example', undefined);
          ajv.validate(absolute(schema), example);
          expect({ id, example, errors: ajv.errors }).toEqual({ id, example, errors: null });
        }
        const inPath = operation.parameters?.filter((parameter) => parameter.in === 'path') ?? [];
        for (const parameter of inPath)
          expect({ id, parameter }).toMatchObject({ parameter: { example: expect.any(String) } });
      }
    },
  );

  it('has examples that the service accepts', async () => {
    const example = (id: string): Json => byId(id)?.requestBody?.content['application/json']?.example as Json;
    const agent = await service.tool('COLLECTION_VIRTUAL_MCP_CREATE', { data: { title: 'Helper' } }).expect(200);
    const { data } = example('COLLECTION_THREADS_CREATE') as { data: Json };
    const thread = { data: { ...data, virtual_mcp_id: agent.body.item.id } };
    await service.tool('COLLECTION_THREADS_CREATE', thread).expect(200);
    await service.tool('COLLECTION_THREADS_LIST', example('COLLECTION_THREADS_LIST')).expect(200);
    await service.tool('COLLECTION_THREAD_MESSAGES_LIST', example('COLLECTION_THREAD_MESSAGES_LIST')).expect(200);
    await service.tool('API_KEY_CREATE', example('API_KEY_CREATE')).expect(200);
    const post = await supertest(service.url)
      .post('/api/default/agent-runtime/threads/ticket-4711/messages')
      .set('authorization', `Bearer ${service.apiKey}`)
      .set('prefer', 'wait=60')
      .send({ ...example('postMessage'), agent: { id: agent.body.item.id } })
      .expect(200);
    expect(post.body.status).toBe('completed');
  });

  it('locks exactly the operations that need a credential', () => {
    const lockOf = (id: string): Json[] | undefined => byId(id)?.security;
    expect([lockOf('isAlive'), lockOf('isReady')]).toEqual([[], []]);
    expect(lockOf('callTool')).toEqual([{ bearer: [] }, {}]);
    expect([lockOf('postMessage'), lockOf('listTools'), lockOf('RUN_GET')]).toEqual([undefined, undefined, undefined]);
  });

  it('has the status codes that the service sends', () => {
    expect(Object.keys(byId('callTool')?.responses ?? {})).toEqual(['200', 'default']);
    expect(Object.keys(byId('sendToConnection')?.responses ?? {})).toEqual(['200', '202', 'default']);
    expect(Object.keys(byId('cancelRuns')?.responses ?? {})).toEqual(['202', 'default']);
    expect(Object.keys(byId('streamThread')?.responses ?? {})).toEqual(['200', '204', 'default']);
    const withCreation = operations().filter(({ operation }) => '201' in operation.responses);
    expect(withCreation.map(({ operation }) => operation.operationId)).toEqual(['uploadFile']);
  });

  it('describes the list of tools, which is as described', async () => {
    expect(document.paths['/api/{org}/tools']?.['get']).toMatchObject({ operationId: 'listTools' });
    const ajv = new Ajv2020({ strict: false });
    ajv.addSchema({ $id: 'reference', components: document.components });
    const listed = await supertest(service.url)
      .get('/api/default/tools')
      .set('authorization', `Bearer ${service.apiKey}`);
    ajv.validate({ $ref: 'reference#/components/schemas/ToolListings' }, listed.body);
    expect(ajv.errors).toBeNull();
  });
});

describe('/', () => {
  it('is a page for browsers, with the policy of all pages', async () => {
    const page = await supertest(service.url)
      .get('/')
      .set('accept', 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8')
      .expect(200);
    expect(page.headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': expect.stringMatching(/^default-src 'none'; style-src 'self'/),
      'x-frame-options': 'DENY',
      vary: expect.stringMatching(/accept/i),
    });
    const links = [...page.text.matchAll(/<a href="([^"]+)"/g)].map(([, path]) => path ?? '');
    expect(links).toContain('/docs');
    for (const path of links) expect((await supertest(service.url).get(path).redirects(3)).status).toBe(200);
  });

  it.each(['*/*', 'application/json', 'application/json, text/html', ''])('is JSON for %j', async (accept) => {
    const answer = await supertest(service.url).get('/').set('accept', accept).expect(200);
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(answer.body).toMatchObject({ name: 'signalbox', reference: '/docs', openapi: '/openapi.json' });
  });
});

describe('a tool without input', () => {
  it.each(['AUDIT_SETTINGS_GET', 'AI_PROVIDER_LIST', 'MODEL_TIERS_GET'])(
    '%s accepts only an empty object',
    async (name) => {
      await service.tool(name, {}).expect(200);
      const refused = await service.tool(name, { limit: 1 }).expect(400);
      expect(refused.body.errors).toEqual([{ path: 'limit', code: 'unknown_property', message: expect.any(String) }]);
    },
  );
});

describe('/docs', () => {
  it('is a page that loads the document', async () => {
    const page = await supertest(service.url).get('/docs').expect(200);
    expect(page.headers['content-type']).toMatch(/^text\/html/);
    expect(page.text).toContain('Signalbox API');
    const scripts = [...page.text.matchAll(/(?:src|href)="\.?\/?([^"]+\.(?:js|css))"/g)].map(([, path]) => path ?? '');
    expect(scripts.length).toBeGreaterThan(1);
    for (const path of scripts) {
      const target = path.startsWith('docs/') ? `/${path}` : `/docs/${path}`;
      await supertest(service.url).get(target).expect(200);
    }
  });
});
