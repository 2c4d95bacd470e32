import type { Server } from 'node:http';
import { describe, expect, it, jest } from '@jest/globals';
import { HealthService } from '../../../src/platform/health/health.service.js';
import { eventually } from '../../support/eventually.js';
import { type RawConnection, requestText } from '../../support/raw-http.js';
import {
  HEADERS_TIMEOUT_MS,
  JSON_TYPE,
  MAX_UNAUTHENTICATED,
  SHORT_TIME_LIMITS,
  useStrictApp,
} from './before-authentication.support.js';

const setUp = useStrictApp();
const { bearer, connection, send } = setUp;

describe('unauthenticated connections with short time limits', () => {
  const { connection, send } = useStrictApp(SHORT_TIME_LIMITS);

  it('are closed when their headers take too long', async () => {
    const [silent, slow] = [await connection(), await send('GET /health/live HTTP/1.1\r\nhost: a')];
    const trickle = setInterval(() => slow.send('a'), HEADERS_TIMEOUT_MS / 5);
    try {
      expect(await slow.closed()).toMatch(/^HTTP\/1\.1 408 /);
      await silent.closed();
    } finally {
      clearInterval(trickle);
    }
  });
});

describe('unauthenticated connections', () => {
  it('are closed when they pipeline too many requests', async () => {
    const probe = requestText('GET', '/health/live');
    const some = await send(probe.repeat(8));
    await eventually(() => expect(some.statuses).toHaveLength(8));
    const many = await send(probe.repeat(200));
    await many.closed();
    expect(many.statuses.length).toBeLessThan(100);
  });
});

describe('unauthenticated connections beyond their number', () => {
  it('are closed in favor of newer ones of the same address, unlike authenticated connections', async () => {
    const list = requestText('GET', '/api/default/tools', bearer());
    const known = await send(list);
    await known.until(/"items":/);
    const connections: RawConnection[] = [];
    for (let i = 0; i < 3 * MAX_UNAUTHENTICATED; i++) connections.push(await connection('127.0.0.2'));
    await eventually(() => connections.filter(({ ended }) => !ended).length <= MAX_UNAUTHENTICATED / 4);
    expect(connections.at(-1)?.ended).toBe(false);
    known.received = '';
    known.send(list);
    await known.until(/"items":/);
    const newcomer = await send(list);
    await newcomer.until(/"items":/);
  });

  it('are closed in favor of newer ones of other addresses', async () => {
    const connections: RawConnection[] = [];
    for (let i = 0; i < 2 * MAX_UNAUTHENTICATED; i++) connections.push(await connection(`127.0.1.${i + 1}`));
    await eventually(() => connections.filter(({ ended }) => !ended).length <= MAX_UNAUTHENTICATED);
    expect(connections.at(-1)?.ended).toBe(false);
  });
});

describe('a stream', () => {
  /** Lets short time limits apply to all connections, so that they end no request before or after. */
  async function whileShort(work: () => Promise<void>): Promise<void> {
    const server = setUp.app.app.getHttpServer() as Server;
    const { headersTimeout, requestTimeout } = server;
    server.headersTimeout = Number(SHORT_TIME_LIMITS.HEADERS_TIMEOUT_MS);
    server.requestTimeout = Number(SHORT_TIME_LIMITS.REQUEST_TIMEOUT_MS);
    try {
      await work();
    } finally {
      Object.assign(server, { headersTimeout, requestTimeout });
    }
  }

  it('outlasts the time limits of a request', async () => {
    const created = await setUp.app.tool('COLLECTION_VIRTUAL_MCP_CREATE', {
      data: { title: 'Agent', connections: [] },
    });
    const agentId = created.body.item.id as string;
    await setUp.app
      .tool('COLLECTION_THREADS_CREATE', { data: { id: 'long', title: 'Long', virtual_mcp_id: agentId } })
      .expect(200);
    const stream = await send(requestText('GET', '/api/default/agent-runtime/threads/long/stream', bearer()));
    await stream.until(/text\/event-stream/);
    // The same limit closes another request in the meantime.
    await whileShort(async () => {
      const timed = await send(requestText('POST', '/api/default/tools/X', { ...bearer(), 'content-length': 9 }));
      await timed.closed();
    });
    const run = await fetch(`${setUp.app.url}/api/default/agent-runtime/threads/long/messages`, {
      method: 'POST',
      headers: { ...JSON_TYPE, ...bearer() },
      body: JSON.stringify({
        messages: [{ role: 'user', parts: [{ type: 'text', text: 'hello' }] }],
        agent: { id: agentId },
      }),
    });
    expect(run.status).toBe(202);
    await stream.until(/\[DONE\]/);
  });
});

describe('/health/ready', () => {
  it('queries the database once for many concurrent requests', async () => {
    const asked = jest.spyOn(setUp.app.app.get(HealthService, { strict: false }), 'probe');
    try {
      const probe = await send(requestText('GET', '/health/ready').repeat(12));
      await eventually(() => expect(probe.statuses).toHaveLength(12));
      expect(new Set(probe.statuses)).toEqual(new Set([200]));
      expect(asked.mock.calls.length).toBeLessThan(6);
    } finally {
      asked.mockRestore();
    }
  });
});
