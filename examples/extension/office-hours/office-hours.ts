import { InMemoryTransport, McpServer, type Transport } from '@modelcontextprotocol/server';
import { type UpstreamAccess, type UpstreamConnector, UpstreamKind } from '../../../src/connections/upstream-kind.js';

/** An MCP server in this process: each connection has one of its own. */
@UpstreamKind('OFFICE_HOURS')
export class OfficeHours implements UpstreamConnector {
  async openTransport({ headers }: UpstreamAccess): Promise<Transport> {
    const server = new McpServer({ name: 'office-hours', version: '1.0.0' });
    const office = headers['x-office'] ?? 'Berlin';
    server.registerTool('opening_hours', { description: 'Tells when the office is open.' }, () => ({
      content: [{ type: 'text', text: `${office} is open from 9 to 17.` }],
    }));
    const [ours, theirs] = InMemoryTransport.createLinkedPair();
    await server.connect(theirs);
    return ours;
  }
}
