import { afterAll, beforeAll, beforeEach } from '@jest/globals';
import { type McpUpstream, startMcpUpstream } from '../../src/boot/testing/mcp-upstream.js';
import { createAgent } from '../support/agent-runs.js';
import { connectTo } from '../support/proxy-connections.js';
import { newTenant } from '../support/tenant.js';
import { useStarted } from '../support/use-started.js';

export const text = { type: 'string' };
export const SEARCH = {
  type: 'object' as const,
  properties: {
    repo: text,
    query: text,
    limit: { type: 'integer', default: 10 },
    filter: { type: 'object', properties: { state: { enum: ['open', 'closed'] }, label: text }, required: ['state'] },
  },
  required: ['repo', 'query'],
};
/** A search of one repository. */
export const DOCS = {
  tool: 'search',
  name: 'search_docs',
  description: 'Searches the documentation.',
  arguments: { fixed: { '/repo': 'docs', '/filter/state': 'open' }, hidden: ['/limit'] },
};

/** A tenant with a connection whose tools `search` and `list` agents can dress, for the spec file that calls this. */
export function useDressedTools() {
  const app = useStarted(newTenant);
  let upstream: McpUpstream;
  let connectionId: string;
  beforeAll(async () => {
    upstream = await startMcpUpstream({
      search: { description: 'Searches.', inputSchema: SEARCH, handler: (args) => JSON.stringify(args) },
      list: { annotations: { readOnlyHint: true }, handler: () => 'listed' },
    });
    connectionId = await connectTo(app, upstream.url, { title: 'Code' });
  });
  beforeEach(() => {
    upstream.calls.length = 0;
  });
  afterAll(() => upstream?.close());

  /** The connections of an agent that selects these tools. */
  const dressed = (...selected: unknown[]) => [{ connection_id: connectionId, selected_tools: selected }];
  return {
    app,
    get upstream() {
      return upstream;
    },
    get connectionId() {
      return connectionId;
    },
    dressed,
    agentWith: (...selected: unknown[]): Promise<string> => createAgent(app, [], { connections: dressed(...selected) }),
    /** The calls that have reached the upstream. */
    sent: (): unknown[] => upstream.calls.map(({ tool, arguments: args }) => [tool, args]),
  };
}
