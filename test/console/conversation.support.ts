import type { Locator, Page } from 'playwright-core';
import { type McpUpstream, startMcpUpstream } from '../../src/boot/testing/mcp-upstream.js';
import { connect, createAgent, succeed, ThreadClient } from '../support/agent-runs.js';
import { newTenant } from '../support/tenant.js';
import { ConsoleFixture } from './console-fixture.js';

/** A console of an agent with a tool call that succeeds, one that fails, and a failed run. */
export class Conversation {
  private constructor(
    readonly fixture: ConsoleFixture,
    readonly agentId: string,
    readonly thread: ThreadClient,
    readonly failedRun: string,
    private readonly upstream: McpUpstream,
  ) {}

  static async start(): Promise<Conversation> {
    const fixture = await ConsoleFixture.start(newTenant);
    const upstream = await startMcpUpstream({
      look: { annotations: { readOnlyHint: true }, handler: () => 'all clear' },
      derail: {
        handler: () => {
          throw new Error('off the rails');
        },
      },
    });
    const connectionId = await connect(fixture.service, upstream.url, 'Points');
    const agentId = await createAgent(fixture.service, [connectionId], { title: 'Signaller' });
    const thread = await ThreadClient.create(fixture.service, agentId, 'ticket-4711');
    await succeed(fixture.service, 'COLLECTION_THREADS_UPDATE', {
      id: thread.id,
      data: { title: 'Line 7', metadata: { customer: 'acme' } },
    });
    await thread.ask('/call look {}');
    const { taskId } = await thread.ask('/call look {}\n/call derail {}\n/fail no steam');
    return new Conversation(fixture, agentId, thread, taskId, upstream);
  }

  async close(): Promise<void> {
    await this.fixture.close();
    await this.upstream.close();
  }
}

export const list = (page: Page, name: string): Locator => page.getByRole('region', { name, exact: true });
