import { describe, expect, it } from '@jest/globals';
import { MetricsExport } from '../../../src/platform/telemetry/metrics-export.js';
import { startTestApp } from '../../support/app.js';
import { RawConnection, requestText } from '../../support/raw-http.js';
import { useStarted } from '../../support/use-started.js';

const app = useStarted(() => startTestApp({ env: { METRICS_ALLOWED_HOSTS: 'metrics.internal' } }));

async function answerTo(url: string, text: string): Promise<string> {
  const connection = await RawConnection.open(url);
  try {
    connection.send(text);
    return await connection.closed();
  } finally {
    connection.close();
  }
}

const bearer = () => ({ authorization: `Bearer ${app.apiKey}`, 'content-type': 'application/json' });

it.each(['/health/live', '/api/default/tools', '/api/default/mcp/self', '/none'])(
  'refuses a request with two Host headers: %s',
  async (path) => {
    const { host } = new URL(app.url);
    const text = `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nhOST: elsewhere.example\r\nConnection: close\r\n\r\n`;
    const answer = await answerTo(app.url, text);
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer).toContain('The request has more than one Host header.');
  },
);

describe('every response', () => {
  it.each([
    ['GET', '/health/live', 200],
    ['GET', '/openapi.json', 200],
    ['GET', '/docs', 200],
    ['GET', '/docs/swagger-ui.css', 200],
    ['GET', '/', 200],
    ['GET', '/none', 404],
    ['GET', '/api/%zz', 404],
    ['HEAD', '/health/live', 404],
    ['OPTIONS', '/api/default/mcp/self', 404],
    ['TRACE', '/api/default/mcp/self', 404],
    ['GET', '/api/default/tools', 200],
    ['POST', '/api/default/mcp/self', 200],
    ['GET', '/api/default/agent-runtime/threads/none/stream', 404],
  ])('disables sniffing and does not reveal software: %s %s', async (method, path, status) => {
    const body = method === 'POST' ? '{"jsonrpc":"2.0","id":1,"method":"ping"}' : '';
    const headers = { ...bearer(), connection: 'close', ...(body !== '' && { 'content-length': body.length }) };
    const [head = ''] = (await answerTo(app.url, requestText(method, path, headers, body))).split('\r\n\r\n', 1);
    expect(head).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(head).toMatch(/\r\nx-content-type-options: nosniff(?:\r|$)/i);
    expect(head).not.toMatch(/\r\n(?:server|x-powered-by):/i);
    if (!path.startsWith('/docs/')) expect(head).toMatch(/\r\ncache-control: no-store(?:\r|$)/i);
  });

  it('disables sniffing also for an unreadable request', async () => {
    const answer = await answerTo(app.url, 'rubbish\r\n\r\n');
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer).toContain('nosniff');
    expect(answer).toContain('"code":"invalid_request"');
    const large = await answerTo(app.url, requestText('GET', '/health/live', { a: 'a'.repeat(20_000) }));
    expect(large).toMatch(/^HTTP\/1\.1 431 /);
  });
});

describe('every page', () => {
  it.each(['/docs', '/docs/', '/docs/index.html', '/openapi.json'])(
    'cannot be framed and loads only its own files: %s',
    async (path) => {
      const { headers } = await fetch(app.url + path);
      expect(headers.get('content-security-policy')).toContain("default-src 'none'");
      expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
      expect(headers.get('x-frame-options')).toBe('DENY');
    },
  );

  it('complies with its content security policy', async () => {
    const page = await (await fetch(`${app.url}/docs`)).text();
    // All scripts are files of the service; none is inline.
    const scripts = [...page.matchAll(/<script([^>]*)>([^<]*)</g)];
    expect(scripts.length).toBeGreaterThan(0);
    for (const [, attributes = '', inline = ''] of scripts) {
      expect(attributes).toMatch(/src="\.\/docs\//);
      expect(inline.trim()).toBe('');
    }
    expect(page).not.toMatch(/\son\w+=/);
  });
});

describe('/metrics', () => {
  const ask = (host: string, more: Record<string, string> = {}): Promise<string> => {
    const { url = '' } = app.app.get(MetricsExport, { strict: false });
    return answerTo(url, requestText('GET', '/metrics', { host, connection: 'close', ...more }));
  };

  it.each(['localhost', 'localhost:9464', '127.0.0.1:9464', '[::1]:9464', 'metrics.internal:9464'])(
    'accepts the host name %s',
    async (host) => {
      expect(await ask(host)).toMatch(/^HTTP\/1\.1 200 [^]*\r\nx-content-type-options: nosniff\r\n/i);
    },
  );

  it.each(['evil.example', 'localhost.evil.example', '127.0.0.1.evil.example', '10.0.0.1', 'a b'])(
    'rejects the host name %s',
    async (host) => {
      expect(await ask(host)).toMatch(/^HTTP\/1\.1 403 /);
    },
  );

  it('does not wait for a body', async () => {
    expect(await ask('localhost', { 'content-length': '1048576', connection: 'keep-alive' })).toMatch(
      /^HTTP\/1\.1 200 /,
    );
  });
});
