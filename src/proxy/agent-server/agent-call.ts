import type { McpRequestContext } from '../forwarding/upstream-router.js';
import { traceContextOf } from '../protocol/inbound-message.js';

/** A tool call that the agent answers or refuses itself, as it is recorded (`InvocationLog.openInvocation`). */
export function agentCallOf(
  { caller, entryPoint, request }: Pick<McpRequestContext, 'caller' | 'entryPoint' | 'request'>,
  toolName: string,
  args: unknown,
) {
  const { connection, asToolCaller } = caller;
  const trace = traceContextOf(request.headers);
  return { connection, agentId: connection.id, toolName, args, caller: asToolCaller, entryPoint, trace };
}
