import { afterEach, expect, it, jest } from '@jest/globals';
import { DataSource } from 'typeorm';
import type { AccessTools } from '../../src/proxy/access/access.dto.js';
import { AnswerBudget, HELD_PER_JSON_BYTE } from '../../src/core/answers/answer-budget.js';
import { LongReads } from '../../src/platform/database/long-reads.js';
import { ToolCatalog } from '../../src/upstreams/catalog/tool-catalog.js';
import { startTestApp } from '../support/app.js';
import { eventually } from '../support/eventually.js';
import { connectTo } from '../support/proxy-connections.js';
import { useStarted } from '../support/use-started.js';

const NEVER = new AbortController().signal;
/** Of one organization, at a time and in the queue. */
const LONG_READS = 33;

const service = useStarted(startTestApp);

afterEach(() => void jest.restoreAllMocks());

const search = (body: object) => service.tool('ACCESS_TOOLS_LIST', body);

it('takes its turn with the long reads of the organization', async () => {
  const reads = service.app.get(LongReads, { strict: false });
  const [{ id }] = await service.app.get(DataSource).query(`SELECT id FROM organizations WHERE slug = 'default'`);
  const gate = Promise.withResolvers<void>();
  const held = Array.from({ length: LONG_READS }, () => reads.read(id, NEVER, () => gate.promise));
  try {
    await search({ search: 'read' }).expect(429);
  } finally {
    gate.resolve();
    await Promise.all(held);
  }
  await search({ search: 'read' }).expect(200);
});

it('reserves the memory of the largest list before it reads any, and pages through all of them', async () => {
  const database = service.app.get(DataSource);
  const budget = service.app.get(AnswerBudget, { strict: false });
  let largest = 0;
  for (const [index, count] of [2, 500, 3].entries()) {
    const id = await connectTo(service, 'http://127.0.0.1:9/mcp', { title: `List ${index}` });
    const tools = Array.from({ length: count }, (_, n) => ({ name: `find ${n}`, inputSchema: { type: 'object' } }));
    const text = JSON.stringify([...tools, { name: 'other', inputSchema: { type: 'object' } }]);
    largest = Math.max(largest, text.length);
    await database.query('UPDATE connections SET tools = $2::text::json, tools_refreshed_at = now() WHERE id = $1', [
      id,
      text,
    ]);
  }
  const catalog = service.app.get(ToolCatalog, { strict: false });
  const lastKnownOf = catalog.lastKnownOf.bind(catalog);
  const held: number[] = [];
  jest.spyOn(catalog, 'lastKnownOf').mockImplementation((connection) => {
    held.push(budget.heldBytes);
    return lastKnownOf(connection);
  });
  const { body } = await search({ search: 'FIND', offset: 1, limit: 3 }).expect(200);
  expect(held).toHaveLength(3);
  expect(Math.min(...held)).toBeGreaterThanOrEqual(largest * HELD_PER_JSON_BYTE);
  expect([body.totalCount, body.hasMore]).toEqual([505, true]);
  const rest: AccessTools = (await search({ search: 'FIND', offset: 501, limit: 100 }).expect(200)).body;
  expect(rest.items.map(({ name, connection_title: title }) => [name, title])).toEqual([
    ['find 499', 'List 1'],
    ...['find 0', 'find 1', 'find 2'].map((name) => [name, 'List 2']),
  ]);
  expect([rest.totalCount, rest.hasMore]).toEqual([505, false]);
  await eventually(async () => expect(budget.heldBytes).toBe(0));
});
