import { beforeAll, describe, expect, it } from '@jest/globals';
import type { ElicitResult } from '@modelcontextprotocol/sdk/types.js';
import { newId } from '../../../src/core/ids.js';
import { eventually } from '../../support/eventually.js';
import { agentOf, gatewayPath } from '../../support/gateway-agents.js';
import { pathOf } from '../../support/proxy-calls.js';
import { auditOf, connectProgram, connectTo, keyWith } from '../../support/proxy-connections.js';
import { newTenant } from '../../support/tenant.js';
import { askedClientContract, QUESTION } from './asked-clients.contract.js';
import {
  ACCEPTED,
  ALL,
  answerWith,
  callAsking,
  openClient,
  openSession,
  resultIn,
  ROOTS,
  SAID,
  textOf,
  useModernAsking,
} from './asked-clients.support.js';
import { useStarted } from '../../support/use-started.js';

const KINDS = ['server', 'program'] as const;
const WAYS = ['a', 'an agent over a', 'an agent over an agent over a'] as const;
const PLACES = KINDS.flatMap((kind) => WAYS.map((way) => [`${way} modern ${kind}`, kind] as const));

const upstream = useModernAsking();
const app = useStarted(newTenant);
let ids: Record<(typeof KINDS)[number], string>;
let paths: Record<string, string>;

beforeAll(async () => {
  ids = {
    server: await connectTo(app, upstream.url),
    program: await connectProgram(app, upstream.programArgs),
  };
  paths = {};
  for (const kind of KINDS) {
    const id = ids[kind];
    paths[`a modern ${kind}`] = pathOf(app, id);
    const agent = await agentOf(app, [id]);
    paths[`an agent over a modern ${kind}`] = gatewayPath(app, agent);
    paths[`an agent over an agent over a modern ${kind}`] = gatewayPath(app, await agentOf(app, [agent]));
  }
});

describe.each(PLACES)('a legacy client whose call is asked by %s', (at, kind) => {
  const path = (): string => paths[at] ?? '';
  askedClientContract({
    app: () => app,
    path,
    connectionId: () => ids[kind],
    elicitationId: expect.any(String),
    progress: [1, 2],
    together: { name: ACCEPTED, said: SAID, roots: ROOTS },
    declaredIn: (declared) => declared,
  });

  it('is not asked for what it does not declare: the call fails', async () => {
    const { client, asked } = await openClient(app, path(), { capabilities: { sampling: {} } });
    await expect(client.callTool({ name: 'ask' })).rejects.toMatchObject({ code: -32021 });
    expect(asked).toEqual([]);
    await client.close();
  });

  it('is not asked by an upstream that only wants the call again', async () => {
    const { client, asked } = await openClient(app, path());
    const before = upstream.requests(kind, 'pause');
    expect(await textOf(client, 'pause')).toBe('resumed');
    expect(upstream.requests(kind, 'pause')).toBe(before + 2);
    expect(asked).toEqual([]);
    await client.close();
  });

  it('that fails to answer gets its error as that of the call', async () => {
    const fail = async (): Promise<never> => {
      throw new Error('Nobody is here');
    };
    const { client } = await openClient(app, path(), { elicit: fail });
    const before = upstream.requests(kind, 'ask');
    await expect(client.callTool({ name: 'ask' })).rejects.toMatchObject({
      code: -32603,
      message: expect.stringContaining('Nobody is here'),
    });
    expect(upstream.requests(kind, 'ask')).toBe(before + 1);
    await client.close();
  });

  it('cancels the call while it is asked, and the upstream gets no more of it', async () => {
    const answered = Promise.withResolvers<ElicitResult>();
    const { client, asked } = await openClient(app, path(), { elicit: () => answered.promise });
    const before = upstream.requests(kind, 'ask');
    const abort = new AbortController();
    const call = client.callTool({ name: 'ask' }, undefined, { signal: abort.signal });
    call.catch(() => undefined);
    await eventually(() => expect(asked).toHaveLength(1));
    abort.abort();
    await expect(call).rejects.toThrow();
    answered.resolve(ACCEPTED);
    expect(await textOf(client, 'plain')).toEqual(ALL);
    expect(upstream.requests(kind, 'ask')).toBe(before + 1);
    await client.close();
  });

  it('hangs up while it is asked, and its answer is ignored', async () => {
    const session = await openSession(app, path());
    const before = upstream.requests(kind, 'ask');
    const call = newId();
    const { asked, leave } = await callAsking(app, path(), { ...session, 'x-request-id': call });
    leave();
    await eventually(async () => expect(await auditOf(app, call)).toMatchObject({ status: 'error' }));
    const next = await callAsking(app, path(), session);
    expect((await answerWith(app, path(), session, { id: asked.id, result: ACCEPTED })).status).toBe(202);
    expect((await answerWith(app, path(), session, { id: next.asked.id, result: ACCEPTED })).status).toBe(202);
    expect(resultIn(await next.rest)).toEqual(ACCEPTED);
    expect(upstream.requests(kind, 'ask')).toBe(before + 3);
  });
});

describe.each(KINDS)('a modern %s', (kind) => {
  const path = (): string => pathOf(app, ids[kind]);

  it('that asks without end, or for too much, makes the call fail', async () => {
    const { client, asked } = await openClient(app, path());
    await expect(client.callTool({ name: 'endless' })).rejects.toMatchObject({
      message: expect.stringContaining('asked for input more than'),
    });
    expect(asked.length).toBeGreaterThan(1);
    await expect(client.callTool({ name: 'many' })).rejects.toMatchObject({
      message: expect.stringContaining('asks for more than the service passes on'),
    });
    await client.close();
  });

  it('asks for much text', async () => {
    const { client, asked } = await openClient(app, path());
    expect(await textOf(client, 'large')).toEqual(ACCEPTED);
    expect(asked).toEqual([{ ...QUESTION, message: 'x'.repeat(100_000) }]);
    await client.close();
  });

  it('asks the client of a caller that may call only this tool', async () => {
    const key = await keyWith(app, { [ids[kind]]: ['ask'] });
    const { client } = await openClient(app, path(), { key });
    expect(await textOf(client, 'ask')).toEqual(ACCEPTED);
    await client.close();
  });
});
