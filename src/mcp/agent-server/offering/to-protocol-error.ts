import { ProtocolError } from '@modelcontextprotocol/server';
import { UpstreamError } from '../../../upstreams/contract/upstream-error.js';
import { rpcErrorBody } from '../../protocol/json-rpc-error.js';
import { toProxyError } from '../../protocol/to-proxy-error.js';

/** Whatever broke a request off, as an MCP server says it: an upstream's own JSON-RPC error as it came, others as ours. */
export function toProtocolError(error: unknown, requestId: string): ProtocolError {
  if (error instanceof ProtocolError) return error;
  const { code, message, data } =
    error instanceof UpstreamError && error.rpc !== undefined
      ? error.rpc
      : rpcErrorBody(toProxyError(error), requestId);
  return new ProtocolError(code, message, data);
}
