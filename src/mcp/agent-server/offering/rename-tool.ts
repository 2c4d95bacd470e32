import type { InboundRequest } from '../../protocol/inbound-message.js';

/**
 * The same request for the tool by its upstream's name. Only the bytes of the name are others.
 * @throws Error for a request without `params.name`
 */
export function renameTool(request: InboundRequest, upstreamName: string): InboundRequest {
  const { nameRange, body, params, idStart, idEnd } = request;
  if (params['name'] === upstreamName) return request;
  if (nameRange === undefined) throw new Error('The name of a tool is not where it was read.');
  const name = Buffer.from(JSON.stringify(upstreamName));
  const { start, end } = nameRange;
  const grown = name.length - (end - start);
  const isIdBehind = idStart > start;
  return {
    ...request,
    body: Buffer.concat([body.subarray(0, start), name, body.subarray(end)]),
    params: { ...params, name: upstreamName },
    nameRange: { start, end: start + name.length },
    idStart: isIdBehind ? idStart + grown : idStart,
    idEnd: isIdBehind ? idEnd + grown : idEnd,
  };
}
