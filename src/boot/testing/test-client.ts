import { ApiClient } from './api-client.js';
import type { McpUpstream } from './mcp-upstream.js';
import type { ScriptedModel } from './scripted-model.js';
import { ThreadClient } from './thread-client.js';

/** What a key allows: tool names by resource. `self` holds the management tools. */
export type Permissions = Record<string, readonly string[]>;

/** A caller that can also create connections, agents, threads and keys. */
export class TestClient extends ApiClient {
  /** A client of the same organization with another key. */
  withKey(apiKey: string): TestClient {
    return new TestClient(this.url, this.org, apiKey);
  }

  /** Creates a connection to an MCP server over HTTP and returns its id. */
  async connect({ url }: Pick<McpUpstream, 'url'>, data: object = {}): Promise<string> {
    const connection = { title: 'Upstream', connection_type: 'HTTP', connection_url: url, ...data };
    return this.create('COLLECTION_CONNECTIONS_CREATE', connection);
  }

  /** Creates an agent with all tools of these connections and returns its id. */
  async createAgent(connectionIds: readonly string[] = [], data: object = {}): Promise<string> {
    const connections = connectionIds.map((connection_id) => ({ connection_id, selected_tools: null }));
    return this.create('COLLECTION_VIRTUAL_MCP_CREATE', { title: 'Agent', connections, ...data });
  }

  /** Creates a thread of the agent. Without an id, the service chooses one. */
  async createThread(agentId: string, id?: string): Promise<ThreadClient> {
    const data = { title: 'Thread', virtual_mcp_id: agentId, ...(id !== undefined && { id }) };
    return new ThreadClient(this, agentId, await this.create('COLLECTION_THREADS_CREATE', data));
  }

  /** Uses this model for the runs of a tier, and of all tiers without a model of their own. */
  async useModel(model: Pick<ScriptedModel, 'baseUrl'>, tier: 'fast' | 'smart' | 'thinking' = 'smart'): Promise<void> {
    const provider = { title: 'Scripted', kind: 'openai-compatible', base_url: model.baseUrl };
    const provider_id = await this.create('AI_PROVIDER_CREATE', provider);
    await this.tool('MODEL_TIERS_SET', { data: { [tier]: { provider_id, model: 'scripted' } } });
  }

  /** Creates an API key with these permissions and returns a client that uses it. */
  async createKey(permissions: Permissions, name = 'test'): Promise<TestClient> {
    const { key } = await this.tool<{ key: string }>('API_KEY_CREATE', { name, permissions });
    return this.withKey(key);
  }

  private async create(tool: string, data: object): Promise<string> {
    return (await this.tool<{ item: { id: string } }>(tool, { data })).item.id;
  }
}
