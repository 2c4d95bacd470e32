import type { ToolPlace } from '../../../agents/composition/composition.js';
import type { Connection } from '../../../connections/connection.js';
import { ProxyCaller } from '../../protocol/proxy-caller.js';
import { isOpen, mayCall } from './agent-permissions.js';

/** Who calls one tool of a connection by way of an agent. */
export class AgentToolCaller extends ProxyCaller {
  /** @param connection the tool's, as it is now */
  constructor(
    private readonly agentCaller: ProxyCaller,
    private readonly place: ToolPlace,
    connection: Connection,
  ) {
    // What the agent keeps from the public is not public by way of it, whatever the connection says.
    const isPublic = isOpen(agentCaller, place) || mayCall(agentCaller, place);
    super(
      agentCaller.principal,
      isPublic ? connection : { ...connection, publicTools: 'ignore' },
      agentCaller.requestId,
    );
  }

  override get agentId(): string {
    return this.agentCaller.connection.id;
  }

  /** The one tool, and nothing else of the connection. */
  override mayCall(tool: string): boolean {
    return tool === this.place.upstreamName && mayCall(this.agentCaller, this.place);
  }
}
