import { type InboundRequest, readRequest } from '../../protocol/inbound-message.js';
import { requireToolCall } from '../../../agents/search/search-tools.js';
import { memberRange } from '../../../core/json/json-member.js';

/**
 * Returns the request with another tool name. Only the bytes of the name change.
 * @throws Error for a request without `params.name`
 */
export function renameTool(request: InboundRequest, newName: string): InboundRequest {
  const { nameRange, body, params, idStart, idEnd } = request;
  if (params['name'] === newName) return request;
  if (nameRange === undefined) throw new Error('The position of the tool name is not known.');
  const name = Buffer.from(JSON.stringify(newName));
  const { start, end } = nameRange;
  const growth = name.length - (end - start);
  const isIdAfter = idStart > start;
  return {
    ...request,
    body: Buffer.concat([body.subarray(0, start), name, body.subarray(end)]),
    params: { ...params, name: newName },
    nameRange: { start, end: start + name.length },
    idStart: isIdAfter ? idStart + growth : idStart,
    idEnd: isIdAfter ? idEnd + growth : idEnd,
  };
}

/**
 * The call that a call of `call_tool` stands for: with the name and the bytes of the arguments that it holds, and
 * otherwise byte for byte the same. It is read as if it were sent so.
 * @throws DomainError `invalid_arguments`, `invalid_rpc_request`
 */
export function callWithin(message: InboundRequest): InboundRequest {
  const { name } = requireToolCall(message.params['arguments']);
  const text = renameTool(message, name).body.toString('utf8');
  const params = memberRange(text, 0, 'params');
  const outer = params && memberRange(text, params.start, 'arguments');
  if (outer === undefined) throw new Error('Checked arguments must be in the body.');
  const inner = memberRange(text, outer.start, 'arguments');
  const args = inner === undefined ? '{}' : text.slice(inner.start, inner.end);
  return readRequest(Buffer.from(text.slice(0, outer.start) + args + text.slice(outer.end)));
}
