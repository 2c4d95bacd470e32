import { collectTools, type ToolPage } from '../contract/tool-listing.js';
import { type UpstreamTool, isTool } from '../contract/upstream.js';
import { UpstreamError, UpstreamMisbehaviour } from '../contract/upstream-error.js';
import { toUpstreamError } from '../contract/to-upstream-error.js';
import { messagesIn } from '../messages/sse-parts.js';
import type { ExchangeOptions, UpstreamChannel } from '../messages/upstream-channel.js';

type PostingChannel = Pick<UpstreamChannel, 'postMessage'>;

const ADDRESS = 'the end of the session';

/**
 * Lists all pages of an upstream's tools in the session of this channel.
 * @throws UpstreamError
 */
export async function listThroughChannel(channel: PostingChannel, options: ExchangeOptions): Promise<UpstreamTool[]> {
  try {
    return await collectTools((cursor) => readPage(channel, cursor, options));
  } catch (error) {
    throw error instanceof UpstreamError ? error : toUpstreamError(error, ADDRESS);
  }
}

let count = 0;

async function readPage(
  channel: PostingChannel,
  cursor: string | undefined,
  options: ExchangeOptions,
): Promise<ToolPage> {
  // An id that the caller does not use in the same session.
  const id = `signalbox-list-${count++}`;
  const params = cursor === undefined ? {} : { params: { cursor } };
  const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/list', ...params }));
  const answer = await channel.postMessage({ body, method: 'tools/list', id: JSON.stringify(id) }, options);
  for await (const text of messagesIn(answer)) {
    const message = JSON.parse(text) as { id?: unknown; result?: { tools?: unknown; nextCursor?: unknown } };
    if (message.id !== id) continue;
    const { tools, nextCursor } = message.result ?? {};
    if (!Array.isArray(tools) || !tools.every(isTool)) break;
    return { tools, ...(typeof nextCursor === 'string' && { nextCursor }) };
  }
  throw new UpstreamMisbehaviour('did not list its tools');
}
