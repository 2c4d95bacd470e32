import { afterAll, describe, expect, it } from '@jest/globals';
import { MetricsExport } from '../../../src/platform/telemetry/metrics-export.js';
import { succeed } from '../../support/agent-runs.js';
import { startTestApp } from '../../support/app.js';
import { agentOf, gatewayPath, listThrough } from '../../support/gateway-agents.js';
import { callProxy, rpc } from '../../support/proxy-calls.js';
import { connectTo } from '../../support/proxy-connections.js';
import { DEAD_URL, Upstreams } from '../../support/upstreams.js';
import { useStarted } from '../../support/use-started.js';

const app = useStarted(startTestApp);
const upstreams = new Upstreams();

afterAll(async () => {
  await upstreams.close();
});

/** The counts of one connection, by reason. */
async function countsOf(connectionId: string): Promise<Record<string, number>> {
  const text = await (await fetch(app.app.get(MetricsExport).url ?? '')).text();
  const line = new RegExp(
    `^mcp_gateway_unavailable_total\\{connection_id="${connectionId}",error_type="(\\w+)"\\} (\\d+)`,
    'gm',
  );
  return Object.fromEntries([...text.matchAll(line)].map(([, reason, count]) => [reason, Number(count)]));
}

describe('A connection that is missing from its agents', () => {
  it('is counted with the reason, next to a working one', async () => {
    const silent = await upstreams.scripted(() => undefined);
    const ids = {
      dead: await connectTo(app, DEAD_URL, { title: 'Dead' }),
      slow: await connectTo(app, silent.url, { title: 'Slow', timeout: 1000 }),
      off: await connectTo(app, DEAD_URL, { title: 'Off' }),
      live: await upstreams.connection(app, 'Live', 'echo'),
    };
    await succeed(app, 'COLLECTION_CONNECTIONS_UPDATE', { id: ids.off, data: { status: 'inactive' } });
    const agent = gatewayPath(app, await agentOf(app, Object.values(ids)));
    expect((await listThrough(app, agent)).unavailable).toHaveLength(3);

    expect(await countsOf(ids.dead)).toEqual({ unreachable: 1 });
    expect(await countsOf(ids.slow)).toEqual({ timeout: 1 });
    expect(await countsOf(ids.off)).toEqual({ inactive: 1 });
    expect(await countsOf(ids.live)).toEqual({});
  });

  it('is counted for prompts and resources too', async () => {
    const dead = await connectTo(app, DEAD_URL);
    const agent = gatewayPath(app, await agentOf(app, [dead]));
    await callProxy(app, agent, { key: app.apiKey, body: rpc('prompts/list') });
    await callProxy(app, agent, { key: app.apiKey, body: rpc('resources/list') });

    // The addresses of resources depend on the tools too.
    expect(await countsOf(dead)).toEqual({ unreachable: 3 });
  });
});
