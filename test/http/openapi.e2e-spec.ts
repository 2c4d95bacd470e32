import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import supertest from 'supertest';
import { ERROR_CODES } from '../../src/common/error-codes.js';
import { ToolRegistry } from '../../src/tools/tool-registry.js';
import { startTestApp, type TestApp } from '../support/app.js';

type Json = { [key: string]: unknown };

interface Operation {
  operationId: string;
  summary?: string;
  parameters?: { name: string; in: string; required?: boolean; schema?: Json }[];
  requestBody?: { content: Record<string, { schema: Json }> };
  responses: Record<string, Json>;
}

interface Document {
  openapi: string;
  info: { title: string; version: string };
  paths: Record<string, Record<string, Operation>>;
  components: { securitySchemes: Json; responses: { Problem: Json } };
  security: Json[];
}

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'];
const TYPES = ['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'];

let service: TestApp;
let document: Document;

beforeAll(async () => {
  service = await startTestApp();
  document = (await supertest(service.url).get('/openapi.json').expect(200)).body as Document;
});
afterAll(() => service?.close());

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
      const input = operation?.requestBody?.content['application/json']?.schema;
      expect({ name: definition.name, input }).toMatchObject({
        input: { type: 'object', additionalProperties: false },
      });
      expect(operation?.responses['200']).toHaveProperty(['content', 'application/json', 'schema', 'type'], 'object');
      for (const { path, object } of objectsIn(operation)) {
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
    const schemaOf = (name: string): Json | undefined =>
      document.paths[`/api/{org}/tools/${name}`]?.['post']?.requestBody?.content['application/json']?.schema;
    expect(schemaOf('API_KEY_CREATE')).toMatchObject({
      properties: { name: { type: 'string', minLength: 1, maxLength: 64 }, expiresIn: { type: 'integer', minimum: 1 } },
      required: ['name', 'permissions'],
    });
    expect(schemaOf('COLLECTION_THREADS_CREATE')).toMatchObject({
      properties: { data: { type: 'object', required: ['title', 'virtual_mcp_id'], additionalProperties: false } },
      required: ['data'],
    });
    expect(schemaOf('AI_PROVIDER_LIST')).toEqual({ type: 'object', properties: {}, additionalProperties: false });
  });

  it('lists every error code', () => {
    const content = (document.components.responses.Problem as { content: Json }).content;
    expect(content['application/problem+json']).toMatchObject({
      schema: { properties: { code: { enum: Object.keys(ERROR_CODES) } } },
    });
  });

  it('has the run and stream routes', () => {
    const thread = '/api/{org}/agent-runtime/threads/{threadId}';
    expect(
      document.paths[`${thread}/messages`]?.['post']?.requestBody?.content['application/json']?.schema,
    ).toMatchObject({
      required: ['messages', 'agent'],
      additionalProperties: false,
    });
    const posting = document.paths[`${thread}/messages`]?.['post'];
    expect(posting?.responses).toMatchObject({
      200: { content: { 'text/event-stream': {}, 'application/json': { schema: { required: expect.any(Array) } } } },
      202: { content: { 'application/json': { schema: { required: ['taskId'] } } } },
    });
    expect(posting?.parameters?.map(({ name }) => name)).toEqual(expect.arrayContaining(['Prefer', 'Idempotency-Key']));
    expect(document.paths[`${thread}/regenerate`]?.['post']?.responses).toEqual(posting?.responses);
    const run = document.paths['/api/{org}/agent-runtime/runs/{taskId}']?.['get'];
    expect(run?.parameters?.map(({ name }) => name)).toEqual(expect.arrayContaining(['org', 'taskId', 'wait']));
    expect(document.paths[`${thread}/stream`]?.['get']).toBeDefined();
    expect(document.paths[`${thread}/cancel`]?.['post']).toBeDefined();
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
