import type { McpRequestContext } from '../forwarding/upstream-router.js';
import { incomingTrace } from '../../platform/telemetry/trace-context.js';

/** A tool call that the agent answers or refuses itself, as it is recorded (`InvocationLog.openInvocation`). */
export function agentCallOf(
  { caller, entryPoint, request }: Pick<McpRequestContext, 'caller' | 'entryPoint' | 'request'>,
  toolName: string,
  args: unknown,
) {
  const { connection, asToolCaller } = caller;
  const trace = incomingTrace(request.headers);
  return { connection, agentId: connection.id, toolName, args, caller: asToolCaller, entryPoint, trace };
}
