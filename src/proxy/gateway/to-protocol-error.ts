import { ProtocolError } from '@modelcontextprotocol/server';
import { UpstreamError } from '../../upstreams/upstream-error.js';
import { rpcErrorBody } from '../jsonrpc/json-rpc-error.js';
import { toProxyError } from '../upstream-refusal.js';

/** Whatever broke a request off, as an MCP server says it: an upstream's own JSON-RPC error as it came, others as ours. */
export function toProtocolError(error: unknown, requestId: string): ProtocolError {
  if (error instanceof ProtocolError) return error;
  const { code, message, data } =
    error instanceof UpstreamError && error.rpc !== undefined
      ? error.rpc
      : rpcErrorBody(toProxyError(error), requestId);
  return new ProtocolError(code, message, data);
}
