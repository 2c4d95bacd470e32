import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { RunDetails } from '../../src/runtime/runs/records/run.dto.js';
import { connect, createAgent, serveTier, succeed, ThreadClient } from '../support/agent-runs.js';
import { inBrowser } from '../support/chromium.js';
import { type FakeOpenAI, startFakeOpenAI } from '../support/fake-openai.js';
import { startToolServer, type ToolServer } from '../support/tool-server.js';
import { newTenant } from '../support/tenant.js';
import { ConsoleFixture } from './console-fixture.js';

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';

inBrowser('Costs, times and traces of runs', () => {
  let fixture: ConsoleFixture;
  let model: FakeOpenAI;
  let tools: ToolServer;
  let run: RunDetails;
  let echoed: string;
  let connectionId: string;

  beforeAll(async () => {
    [fixture, model, tools] = await Promise.all([
      ConsoleFixture.start(() => newTenant({ TRACE_URL: 'https://traces.example/trace/{traceId}' })),
      startFakeOpenAI(),
      startToolServer('echo'),
    ]);
    const { service } = fixture;
    await serveTier(service, 'thinking', model, { model: 'large', price: { input: 3, output: 15 } });
    connectionId = await connect(service, tools.url, 'Tools');
    const agent = await createAgent(service, [connectionId], { title: 'Signaller' });
    const thread = await ThreadClient.create(service, agent);
    model.script(
      { kind: 'status', status: 503, headers: { 'retry-after-ms': '20' } },
      {
        kind: 'tool-calls',
        calls: [{ name: 'echo', arguments: { text: 'a' } }],
        deltas: ['so'],
        delayMs: 300,
        usage: { inputTokens: 100_000, outputTokens: 1_000 },
      },
      { kind: 'status', status: 400 },
    );
    const headers = { traceparent: `00-${TRACE_ID}-00f067aa0ba902b7-01` };
    const { body } = await thread.post(thread.request('hello', { tier: 'thinking' }), { headers }).expect(202);
    await thread.waitFor(body.taskId, 'failed');
    run = (await succeed<{ item: RunDetails }>(service, 'RUN_GET', { id: body.taskId })).item;
    // The built-in model has no price.
    echoed = (await (await ThreadClient.create(service, agent)).ask('hello')).taskId;
  });
  afterAll(async () => {
    await fixture.close();
    await Promise.all([model.close(), tools.close()]);
  });

  it('shows in a run what it cost, when its model calls were, and where its trace is', async () => {
    const opened = await fixture.open(`runs/${run.id}`);
    const { page } = opened;
    const facts = page.getByRole('region', { name: 'Facts' });
    await facts.getByText('$0.32', { exact: true }).waitFor();
    const trace = facts.getByRole('link', { name: TRACE_ID });
    expect(await trace.getAttribute('href')).toBe(`https://traces.example/trace/${TRACE_ID}`);
    const timeline = page.getByRole('list', { name: 'Timeline' });
    await timeline.getByText('echo', { exact: true }).waitFor();
    const spans = await timeline.getByRole('listitem').allInnerTexts();
    expect(spans.map((text) => text.split('\n')[0])).toEqual([
      'Waiting for a worker',
      'Step 1',
      'Model, call 1',
      'echo',
      'Step 2',
      'Model, call 2',
    ]);
    expect(spans[2]).toContain('called 2 times · 100,000 tokens in, 1,000 out · $0.32');
    // A call that took longer than a second is shown in seconds.
    const callMs = run.model_calls[0]?.duration_ms ?? 0;
    expect(spans[2]).toContain(callMs < 1000 ? `${callMs} ms` : `${(callMs / 1000).toFixed(1)} s`);
    expect(spans[5]).toContain(`failed · ${run.error?.code}`);
    await opened.expectAccessible();
    await opened.expectToFit(360);
    await opened.close();
  });

  it('says that a run has no price, and names no trace that there is not', async () => {
    const opened = await fixture.open(`runs/${echoed}`);
    const { page } = opened;
    const facts = page.getByRole('region', { name: 'Facts' });
    await facts.getByText('no price set').waitFor();
    expect(await facts.getByText('Trace', { exact: true }).count()).toBe(0);
    await opened.close();
  });

  it('shows the cost of each agent', async () => {
    const opened = await fixture.open('overview');
    const { page } = opened;
    const agents = page.getByRole('region', { name: 'Tokens and cost by agent' }).last();
    await agents.getByRole('row', { name: /Signaller.*\$0\.315.*1 run without a price/ }).waitFor();
    await page.getByRole('link', { name: '1 run without a price' }).click();
    await page.getByRole('form', { name: 'Tier Thinking' }).getByLabel('Input price', { exact: true }).waitFor();
    expect(await page.getByLabel('Input price', { exact: true }).inputValue()).toBe('3');
    await opened.expectAccessible();
    await opened.close();
  });

  it('shows at the call of an agent what its run cost', async () => {
    const { service } = fixture;
    const helper = await createAgent(service, [], { title: 'Helper', tier: 'thinking', expose_run: true });
    const data = {
      title: 'Helper as a tool',
      connection_type: 'HTTP',
      connection_url: `${service.url}/api/${service.org}/mcp/gateway/${helper}`,
      connection_token: service.apiKey,
    };
    const { item } = await succeed<{ item: { id: string } }>(service, 'COLLECTION_CONNECTIONS_CREATE', { data });
    const thread = await ThreadClient.create(service, await createAgent(service, [item.id, connectionId]));
    model.script({ kind: 'text', deltas: ['Platform 4.'], usage: { inputTokens: 100_000, outputTokens: 1_000 } });
    await thread.ask('/call ask {"message":"Which platform?"}\n/call echo {"text":"a"}');
    const opened = await fixture.open('settings/organization');
    const { page } = opened;
    const requests: string[] = [];
    page.on('request', (request) => requests.push(request.url()));
    // Changes make a page read again.
    await page.route('**/events', (route) => route.abort());
    await page.goto(fixture.address(`playground/${thread.id}`));
    const head = (tool: string) =>
      page
        .getByRole('region', { name: `Tool call ${tool}` })
        .locator('summary')
        .first();
    await head('ask').getByText('$0.32').waitFor();
    await head('echo')
      .getByText(/^[\d.]+ m?s$/)
      .waitFor();
    expect(requests.filter((url) => url.endsWith('/tools/MONITORING_LOGS_LIST'))).toHaveLength(1);
    await opened.expectAccessible();

    for (const name of ['MONITORING_LOGS_LIST', 'COLLECTION_VIRTUAL_MCP_GET']) {
      await page.route(`**/tools/${name}`, (route) => route.fulfill({ status: 400, body: '{}' }));
      await page.reload();
      await page.getByText('What the tool calls took could not be read.').waitFor();
      await opened.expectAccessible();
      const again = page.getByRole('button', { name: 'Read it again' });
      await Promise.all([page.waitForResponse(`**/tools/${name}`), again.click()]);
      expect(await again.evaluate((button) => button.matches(':focus'))).toBe(true);
      await page.unroute(`**/tools/${name}`);
      await again.click();
      await head('ask').getByText('$0.32').waitFor();
    }
    expect(await page.getByText('What the tool calls took could not be read.').count()).toBe(0);
    await opened.close();
  });
});
