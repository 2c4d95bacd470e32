import type { ToolPlace } from '../../../agents/composition/composition.js';
import type { Connection } from '../../../connections/connection.js';
import { isTaskOnly } from '../../../upstreams/contract/tool-task.js';
import { ProxyCaller } from '../../protocol/proxy-caller.js';
import { isOpen, mayCall } from './agent-permissions.js';

/** A caller of one tool of a connection through an agent. */
export class AgentToolCaller extends ProxyCaller {
  /** @param connection the tool's current connection */
  constructor(
    private readonly agentCaller: ProxyCaller,
    private readonly place: ToolPlace,
    connection: Connection,
  ) {
    // A tool that the agent does not publish is not public through it, even if the connection publishes it.
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

  /** An agent has no tasks, so that any client can call its tools. */
  override get callsAsTask(): boolean {
    return isTaskOnly(this.place.tool?.definition);
  }

  /** Permits this tool only, and nothing else of the connection. */
  override mayCall(tool: string): boolean {
    return tool === this.place.upstreamName && mayCall(this.agentCaller, this.place);
  }
}
