import { afterAll, beforeAll } from '@jest/globals';
import { connect, createAgent } from '../../support/agent-runs.js';
import { newTenant, type Tenant } from '../../support/tenant.js';
import { type EverythingServer, startEverything } from '../../support/everything-server.js';
import type { MessageItem } from '../../../src/runtime/threads/thread.dto.js';

interface RunsApp {
  readonly app: Tenant;
  readonly upstream: EverythingServer;
  /** An agent with all the tools of `upstream`. */
  readonly agentId: string;
}

/** Starts an application and an upstream for the spec file that calls this; all is there once `beforeAll` has run. */
export function useRunsApp(): RunsApp {
  let app: Tenant;
  let upstream: EverythingServer;
  let agentId: string;

  beforeAll(async () => {
    [app, upstream] = await Promise.all([newTenant(), startEverything()]);
    agentId = await createAgent(app, [await connect(app, upstream.url, 'Everything')]);
  });

  afterAll(async () => {
    await app?.close();
    await upstream?.close();
  });

  return {
    get app() {
      return app;
    },
    get upstream() {
      return upstream;
    },
    get agentId() {
      return agentId;
    },
  };
}

export function toolPartsOf(parts: MessageItem['parts']): object[] {
  return parts.filter((part) => 'type' in part && part.type === 'dynamic-tool');
}
