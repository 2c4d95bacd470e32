import { Readable } from 'node:stream';
import type { Implementation } from '@modelcontextprotocol/client';
import { isRecord } from '../../common/is-record.js';
import { type AnswerBody, discard, wholeOf } from '../../upstreams/messages/answer-body.js';
import { dataOf, messageEvent, sseParts } from '../../upstreams/messages/sse-parts.js';
import type { UpstreamAnswer } from '../../upstreams/messages/upstream-channel.js';
import { UpstreamError } from '../../upstreams/contract/upstream-error.js';
import { parseMessage } from '../forwarding/relay/complete-answer.js';
import { memberRange, withMember, withNewMember } from '../../json/json-member.js';

/** Results that say for how long and for whom they may be kept. */
const CACHEABLE: ReadonlySet<string> = new Set([
  'server/discover',
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
]);
const SERVER_INFO = 'io.modelcontextprotocol/serverInfo';

/** Whose answer it is, and to what. */
export interface Answered {
  readonly method: string;
  readonly serverInfo: Implementation | undefined;
}

/** The answer of an upstream of the legacy era to one request, as the modern era wants it (MCP 2026-07-28, "Results"). */
export function toModernAnswer(answer: UpstreamAnswer, answered: Answered): UpstreamAnswer {
  const isStream = answer.contentType === 'text/event-stream';
  if (!isStream && answer.contentType !== 'application/json') return answer;
  const source = answer.body;
  const body = Readable.from(isStream ? events(source, answered) : whole(source, answered), { objectMode: false });
  // One that is given up before anybody reads it fails as well, and without a listener that would end this process.
  body.on('error', () => undefined);
  body.once('close', () => discard(source));
  return { ...answer, body };
}

/**
 * The JSON text of a message; a result in it gets the members that the modern era requires. It is never to be kept for others: it was
 * made for what one caller may see. An error stays as it came.
 */
export function toModernMessage(text: string, { method, serverInfo }: Answered): string {
  const result = parseMessage(text)?.['result'];
  const range = memberRange(text, 0, 'result');
  if (!isRecord(result) || range === undefined) return text;
  // Looking through a large text takes time: only for what is known to be there.
  const set = (json: string, name: string, value: string): string =>
    (Object.hasOwn(result, name) ? withMember : withNewMember)(json, range.start, name, value);
  let modern = set(text, 'resultType', '"complete"');
  if (CACHEABLE.has(method)) modern = set(set(modern, 'ttlMs', '0'), 'cacheScope', '"private"');
  if (serverInfo === undefined) return modern;
  const meta = isRecord(result['_meta']) ? memberRange(modern, range.start, '_meta') : undefined;
  return meta === undefined
    ? set(modern, '_meta', JSON.stringify({ [SERVER_INFO]: serverInfo }))
    : withMember(modern, meta.start, SERVER_INFO, JSON.stringify(serverInfo));
}

async function* whole(source: AnswerBody, answered: Answered): AsyncGenerator<Buffer> {
  const bytes = await gather(source);
  yield Buffer.from(toModernMessage(bytes.toString('utf8'), answered));
}

/** The whole body. @throws UpstreamError if it is too large */
export function gather(source: AnswerBody): Promise<Buffer> {
  return wholeOf(source, tooLarge);
}

/** The response and what is said of its progress: in the modern era nothing else belongs into the answer to a request. */
async function* events(source: AnswerBody, answered: Answered): AsyncGenerator<Buffer> {
  for await (const { bytes, isWhole } of sseParts(source)) {
    if (!isWhole) throw tooLarge();
    const data = dataOf(bytes);
    const message = data === undefined ? undefined : parseMessage(data);
    if (data === undefined || message === undefined) continue;
    if (!('method' in message)) yield messageEvent(onOneLine(toModernMessage(data, answered)));
    else if (message['method'] === 'notifications/progress') yield messageEvent(onOneLine(data));
  }
}

/** Between the values of JSON, the end of a line is white space; in a string it stands escaped. */
function onOneLine(json: string): string {
  return json.replaceAll(/[\r\n]+/g, ' ');
}

function tooLarge(): UpstreamError {
  return new UpstreamError('protocol', 'The answer is too large to be translated.');
}
