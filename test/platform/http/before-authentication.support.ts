import { randomUUID } from 'node:crypto';
import { afterEach } from '@jest/globals';
import { Controller, Module, Post } from '@nestjs/common';
import { Access } from '../../../src/core/access.js';
import { startTestApp, type TestApp } from '../../support/app.js';
import { RawConnection } from '../../support/raw-http.js';
import { useStarted } from '../../support/use-started.js';

export const MEBIBYTE = 1_048_576;
export const JSON_TYPE = { 'content-type': 'application/json' };
export const HEADERS_TIMEOUT_MS = 500;
/** For tests of these limits alone: a stalled process can exceed them with any request. */
export const SHORT_TIME_LIMITS = { HEADERS_TIMEOUT_MS: String(HEADERS_TIMEOUT_MS), REQUEST_TIMEOUT_MS: '1000' };
export const MAX_UNAUTHENTICATED = 64;
const ENV = {
  HEADERS_TIMEOUT_MS: '60000',
  REQUEST_TIMEOUT_MS: '60000',
  MAX_UNAUTHENTICATED_CONNECTIONS: String(MAX_UNAUTHENTICATED),
};

@Controller('extension/:org')
class ExtensionController {
  @Post('echo')
  @Access('organization')
  echo(): { ok: true } {
    return { ok: true };
  }
}

@Module({ controllers: [ExtensionController] })
class ExtensionModule {}

/** What each endpoint is, and its path. */
export const ENDPOINTS = [
  ['a management tool', '/api/default/tools/API_KEY_LIST'],
  ['a run', '/api/default/agent-runtime/threads/t/messages'],
  ['an MCP endpoint', `/api/default/mcp/${randomUUID()}`],
  ['an agent', `/api/default/mcp/gateway/${randomUUID()}`],
  ['the legacy path', `/mcp/${randomUUID()}`],
  ['a streamed tool', `/api/default/mcp/${randomUUID()}/call-tool/echo`],
  ['the own MCP server', '/api/default/mcp/self'],
  ['the route of another module', '/extension/default/echo'],
];

/** A service with a low limit of unauthenticated connections. */
interface StrictApp {
  readonly app: TestApp;
  bearer: (key?: string) => { authorization: string };
  /** Opens a connection, from the given local address. It is closed after the test. */
  connection: (from?: string) => Promise<RawConnection>;
  /** Opens a connection and sends the text. */
  send: (text: string) => Promise<RawConnection>;
}

/**
 * Starts the service before the tests of a spec or a block, and stops it after them.
 * @param env settings that differ
 */
export function useStrictApp(env: Record<string, string> = {}): StrictApp {
  const app = useStarted(() => startTestApp({ env: { ...ENV, ...env }, modules: [ExtensionModule] }));
  const open: RawConnection[] = [];

  afterEach(() => {
    for (const connection of open.splice(0)) connection.close();
  });

  const connection = async (from?: string): Promise<RawConnection> => {
    const opened = await RawConnection.open(app.url, from);
    open.push(opened);
    return opened;
  };
  return {
    get app() {
      return app;
    },
    bearer: (key = app.apiKey) => ({ authorization: `Bearer ${key}` }),
    connection,
    send: async (text) => {
      const opened = await connection();
      opened.send(text);
      return opened;
    },
  };
}
