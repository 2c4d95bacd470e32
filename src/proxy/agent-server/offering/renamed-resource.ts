import { isRecord } from '../../../core/is-record.js';
import { memberRange, withMember } from '../../../core/json/json-member.js';
import { withData } from '../../../upstreams/messages/sse-parts.js';
import { type InboundRequest, readRequest } from '../../protocol/inbound-message.js';

const UPDATED = 'notifications/resources/updated';

/** The result of `resources/read` with the address that was asked for in place of the upstream's own. */
export function renameContents(result: object, own: string, asked: string): object {
  const { contents } = result as { contents?: unknown };
  if (own === asked || !Array.isArray(contents)) return result;
  const rename = (content: unknown): unknown =>
    isRecord(content) && content['uri'] === own ? { ...content, uri: asked } : content;
  return { ...result, contents: contents.map(rename) };
}

/** True if the message says that a resource has changed. */
export function isUpdate(message: Readonly<Record<string, unknown>> | undefined): boolean {
  return message?.['method'] === UPDATED;
}

/** The event of such a message with another address. @param message in the event */
export function renameUpdate(
  event: Buffer,
  { params, ...message }: Readonly<Record<string, unknown>>,
  addressOf: (uri: string) => string,
): Buffer {
  if (!isRecord(params) || typeof params['uri'] !== 'string') return event;
  const uri = addressOf(params['uri']);
  return uri === params['uri'] ? event : withData(event, JSON.stringify({ ...message, params: { ...params, uri } }));
}

/** The request with the upstream's own address in place of the one that was asked for. */
export function renameUri(request: InboundRequest, own: string): InboundRequest {
  if (request.params['uri'] === own) return request;
  const text = request.body.toString('utf8');
  const params = memberRange(text, 0, 'params');
  if (params === undefined) throw new Error('A request that names a resource must have params.');
  return readRequest(Buffer.from(withMember(text, params.start, 'uri', JSON.stringify(own))));
}
