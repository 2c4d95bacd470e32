import { collectTools, type ToolPage } from '../tool-listing.js';
import type { UpstreamTool } from '../upstream.js';
import { UpstreamError, UpstreamMisbehaviour } from '../upstream-error.js';
import { toUpstreamError } from '../to-upstream-error.js';
import { chunksOf } from './answer-body.js';
import { isTool } from './is-tool.js';
import { dataOf, sseParts } from './sse-parts.js';
import type { UpstreamAnswer, UpstreamChannel } from './upstream-channel.js';

const MAX_ANSWER_BYTES = 32 * 1024 * 1024;
const ADDRESS = 'the end of the session';

/**
 * The tools that an upstream lists to the session of this channel, every page.
 * @throws UpstreamError
 */
export async function listThroughChannel(channel: UpstreamChannel, signal: AbortSignal): Promise<UpstreamTool[]> {
  try {
    return await collectTools((cursor) => readPage(channel, cursor, signal));
  } catch (error) {
    throw error instanceof UpstreamError ? error : toUpstreamError(error, ADDRESS);
  }
}

let count = 0;

async function readPage(channel: UpstreamChannel, cursor: string | undefined, signal: AbortSignal): Promise<ToolPage> {
  // Not an id that the caller uses in the same session.
  const id = `signalbox-list-${count++}`;
  const params = cursor === undefined ? {} : { params: { cursor } };
  const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/list', ...params }));
  const answer = await channel.post({ body, method: 'tools/list', id: JSON.stringify(id) }, { signal });
  for await (const text of messagesIn(answer)) {
    const message = JSON.parse(text) as { id?: unknown; result?: { tools?: unknown; nextCursor?: unknown } };
    if (message.id !== id) continue;
    const { tools, nextCursor } = message.result ?? {};
    if (!Array.isArray(tools) || !tools.every(isTool)) break;
    return { tools, ...(typeof nextCursor === 'string' && { nextCursor }) };
  }
  throw new UpstreamMisbehaviour('did not list its tools');
}

/** The JSON texts of an answer, bounded. */
async function* messagesIn({ body, contentType }: UpstreamAnswer): AsyncGenerator<string> {
  if (contentType === 'text/event-stream') {
    for await (const { bytes, isWhole } of sseParts(body, MAX_ANSWER_BYTES)) {
      const data = isWhole ? dataOf(bytes) : undefined;
      if (data !== undefined) yield data;
    }
    return;
  }
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of chunksOf(body)) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > MAX_ANSWER_BYTES) throw new UpstreamMisbehaviour('lists more tools than fit into 32 MiB');
  }
  yield Buffer.concat(chunks).toString('utf8');
}
