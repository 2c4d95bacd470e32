import { afterAll, beforeAll } from '@jest/globals';
import type { DataSource } from 'typeorm';
import { newId } from '../../../src/core/ids.js';
import type { NewRun } from '../../../src/runtime/runs/records/new-run.js';
import { connect, createAgent } from '../../support/agent-runs.js';
import { newTenant, type Tenant } from '../../support/tenant.js';
import { type EverythingServer, startEverything } from '../../support/everything-server.js';
import { Upstreams } from '../../support/upstreams.js';
import type { MessageItem } from '../../../src/runtime/threads/thread.dto.js';

/** A run of this thread, posted with the first key of the service. */
export async function newRunOf(database: DataSource, threadId: string, agentId: string): Promise<NewRun> {
  const [{ organizationId, apiKeyId }] = await database.query(
    'SELECT organization_id AS "organizationId", id AS "apiKeyId" FROM api_keys LIMIT 1',
  );
  return {
    organizationId,
    threadId,
    agentId,
    userId: null,
    apiKeyId,
    grantId: null,
    requestId: 'r',
    tier: 'smart',
    temperature: 0.5,
    messages: [{ id: newId(), role: 'user', parts: [{ type: 'text', text: 'hello' }] }],
    idempotency: undefined,
  };
}

/** A message to a `HoldingAgent`, whose run goes on until the test releases it. */
export const HELD = '/call hold';

/** An agent with the tool `hold`, whose calls are answered once they are released. */
interface HoldingAgent {
  readonly agentId: string;
  /** How many calls have arrived. */
  calls(): number;
  release(): void;
}

interface RunsApp {
  readonly app: Tenant;
  readonly upstream: EverythingServer;
  /** An agent with all the tools of `upstream`. */
  readonly agentId: string;
  createHoldingAgent(): Promise<HoldingAgent>;
}

/** Starts an application and an upstream for the spec file that calls this; all is there once `beforeAll` has run. */
export function useRunsApp(): RunsApp {
  let app: Tenant;
  let upstream: EverythingServer;
  let agentId: string;
  const upstreams = new Upstreams();

  beforeAll(async () => {
    [app, upstream] = await Promise.all([newTenant(), startEverything()]);
    agentId = await createAgent(app, [await connect(app, upstream.url, 'Everything')]);
  });

  afterAll(async () => {
    await app?.close();
    await upstream?.close();
    await upstreams.close();
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
    async createHoldingAgent() {
      const server = await upstreams.holding();
      return { ...server, agentId: await createAgent(app, [await connect(app, server.url, 'Holding')]) };
    },
  };
}

export function toolPartsOf(parts: MessageItem['parts']): object[] {
  return parts.filter((part) => 'type' in part && part.type === 'dynamic-tool');
}
