import type { FetchLike } from '@modelcontextprotocol/client';
import { isForbiddenHeader } from '../../platform/net/forbidden-headers.js';
import { UPSTREAM_LIMITS } from '../../platform/net/http-limits.js';
import { type AnswerBody, beginningOf, chunksForService, discard, memoryFor } from '../messages/answer-body.js';
import type { HttpAnswer } from '../sockets/http-answer.js';
import type { AnswerRoom } from '../../core/answers/answer-room.js';
import { ParseCost } from '../../core/json/parse-cost.js';
import { LineEnds } from '../../core/line-ends.js';
import type { UpstreamSockets } from '../sockets/upstream-sockets.js';
import { UpstreamMisbehaviour } from '../contract/upstream-error.js';
import type { HttpTarget } from '../contract/upstream-target.js';

const { maxAnswerBytes } = UPSTREAM_LIMITS;

/** The response headers that MCP needs. An upstream's cookies and challenges are dropped. */
const RELAYED_HEADERS = ['content-type', 'location', 'mcp-session-id'];

/** Receives the state of the HTTP answer that the transport waits for. */
export interface AnswerObserver {
  /** True if the answer is an event stream, so that messages can arrive until it ends. */
  streaming: boolean;
  /** The room without which a large answer is not read further; absent: the answer counts towards no memory. */
  readonly room?: AnswerRoom | undefined;
  /** Why the answer could not be read to its end. */
  fault?: unknown;
}

/**
 * Creates the `fetch` of the MCP transport. It uses the given sockets, adds the connection's credentials, bounds every
 * answer, and does not follow redirects. `observer` returns the exchange that waits for the answer, if any.
 */
export function createUpstreamFetch(
  target: HttpTarget,
  sockets: UpstreamSockets,
  observer: () => AnswerObserver | undefined,
): FetchLike {
  const stored = storedHeaders(target);

  return async (url, init = {}) => {
    const headers = new Headers(init.headers);
    // A GET for unsolicited messages, which resumes nothing, is answered like by a server without that optional stream.
    if (init.method === 'GET' && !headers.has('last-event-id')) return new Response(null, { status: 405 });

    const observed = observer();
    try {
      const request = {
        target,
        url: new URL(url),
        method: init.method === 'GET' || init.method === 'DELETE' ? init.method : 'POST',
        headers: { ...stored, ...Object.fromEntries(headers), 'accept-encoding': 'identity' },
        body: typeof init.body === 'string' ? init.body : null,
      } as const;
      const options = { signal: init.signal ?? new AbortController().signal };
      const answer = await sockets.exchange(request, options);
      return toResponse(answer, target.organizationId, observed);
    } catch (error) {
      if (observed !== undefined) observed.fault = error;
      throw error;
    }
  };
}

function toResponse(answer: HttpAnswer, organizationId: string, observed: AnswerObserver | undefined): Response {
  const { status, body } = answer;
  const headers = new Headers();
  for (const name of RELAYED_HEADERS) {
    const value = answer.headers[name];
    if (typeof value === 'string') headers.set(name, value);
  }
  if (status === 204 || status === 205 || status === 304) {
    discard(body);
    return new Response(null, { status, headers });
  }
  const succeeded = status >= 200 && status < 300;
  if (observed !== undefined && succeeded) {
    observed.streaming = headers.get('content-type')?.toLowerCase().startsWith('text/event-stream') ?? false;
  }
  const bytes = succeeded
    ? whole(body, organizationId, observed)
    : beginningOf(body, UPSTREAM_LIMITS.maxErrorAnswerBytes);
  return new Response(ReadableStream.from(bytes), { status, headers });
}

/** The bytes of an answer; fails if it has too many bytes or values. A large one waits for room. */
async function* whole(
  body: AnswerBody,
  organizationId: string,
  observed: AnswerObserver | undefined,
): AsyncGenerator<Uint8Array> {
  const cost = new ParseCost(observed?.streaming);
  const lineEnds = observed?.streaming === true ? new LineEnds() : undefined;
  let size = 0;
  try {
    for await (const chunk of chunksForService(body, organizationId)) {
      size += chunk.byteLength;
      cost.add(chunk);
      if (size > maxAnswerBytes) throw new UpstreamMisbehaviour(`answered with more than ${maxAnswerBytes} bytes`);
      if (cost.isTooHigh) throw new UpstreamMisbehaviour('answered with more than the service accepts');
      const memory = memoryFor(cost.bytes);
      if (memory !== undefined) await observed?.room?.enter(memory);
      const bytes = lineEnds?.unify(chunk) ?? chunk;
      if (bytes.length > 0) yield bytes;
    }
  } catch (error) {
    if (observed !== undefined) observed.fault = error;
    throw error;
  }
}

/** Stored headers are checked again here, because a forbidden one would break the protocol. */
export function storedHeaders(target: HttpTarget): Record<string, string> {
  const headers: Record<string, string> = { 'user-agent': 'signalbox' };
  if (target.bearerToken !== undefined) headers['authorization'] = `Bearer ${target.bearerToken}`;
  for (const [name, value] of Object.entries(target.headers)) {
    if (!isForbiddenHeader(name)) headers[name.toLowerCase()] = value;
  }
  return headers;
}

/** True if a request carries a credential. A stored header can be one, whatever its name. */
export function holdsCredential({ bearerToken, account, headers }: HttpTarget): boolean {
  return bearerToken !== undefined || account !== undefined || Object.keys(headers).length > 0;
}
