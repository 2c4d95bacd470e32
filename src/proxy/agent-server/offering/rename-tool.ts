import type { InboundRequest } from '../../protocol/inbound-message.js';

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
