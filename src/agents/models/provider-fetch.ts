import { type Dispatcher, fetch as undiciFetch, type RequestInit } from 'undici';
import { HIDDEN } from '../../core/credential-forms.js';
import { PROVIDER_LIMITS } from '../../platform/net/http-limits.js';
import { ParseCost } from '../../core/json/parse-cost.js';
import { LineEnds } from '../../core/line-ends.js';

type ProviderFetchLimits = AnswerBounds &
  Readonly<Record<'headersTimeoutMs' | 'idleTimeoutMs' | 'maxErrorAnswerBytes', number>>;

/** The beginning of a key by which masked or cut repetitions of it are recognized. */
const KEY_BEGINNING = 8;

/**
 * A `fetch` that replaces secrets in the error documents of the provider, so that their messages can be shown:
 * providers repeat a wrong key, whole, masked or cut, and AWS the headers that it expected to be signed. Text that
 * begins like a secret is replaced up to the next character that no key has.
 */
export function hidingKey(
  fetch: typeof globalThis.fetch,
  ...stored: readonly (string | undefined)[]
): typeof globalThis.fetch {
  const secrets = stored.filter((secret) => secret !== undefined && secret !== '') as string[];
  if (secrets.length === 0) return fetch;
  // A secret that begins like another one is replaced as a whole before that one.
  secrets.sort((one, other) => other.length - one.length);
  return async (input, init) => {
    const answer = await fetch(input, init);
    if (answer.ok || answer.body === null) return answer;
    const { status, statusText, headers } = answer;
    return new Response(withoutSecrets(await textOf(answer.body), secrets), { status, statusText, headers });
  };
}

function withoutSecrets(text: string, secrets: readonly string[]): string {
  const whole = secrets.reduce((rest, secret) => rest.replaceAll(secret, HIDDEN), text);
  return secrets.reduce((rest, secret) => rest.replace(repetitionOf(secret), HIDDEN), whole);
}

function repetitionOf(secret: string): RegExp {
  const beginning = secret.slice(0, KEY_BEGINNING).replace(/[^A-Za-z0-9]/g, '\\$&');
  return new RegExp(secret.length > KEY_BEGINNING ? `${beginning}[\\w.*…-]*` : beginning, 'g');
}

async function textOf(body: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  try {
    for await (const chunk of body) text += decoder.decode(chunk, { stream: true });
  } catch {
    // The status says enough.
  }
  return text;
}

/**
 * The `fetch` of the provider SDKs. It uses the given dispatcher, times out when a provider hangs, limits the size of
 * responses and of each document in them, and cuts error documents. It follows no redirect, so that keys and prompts
 * reach only the stored address.
 */
export function createProviderFetch(
  dispatcher: Dispatcher,
  limits: ProviderFetchLimits = PROVIDER_LIMITS,
  framing: StreamFraming = 'events',
): typeof globalThis.fetch {
  const { headersTimeoutMs: headersTimeout, idleTimeoutMs: bodyTimeout, maxErrorAnswerBytes } = limits;
  // `fetch` has no timeout options, so they are set on every dispatch.
  const patient = dispatcher.compose(
    (dispatch) => (options, handler) => dispatch({ ...options, headersTimeout, bodyTimeout }, handler),
  );
  return async (input, init) => {
    // The SDKs send string URLs and JSON strings; the types of undici and Node differ only for other values.
    const request = { ...init, redirect: 'manual', dispatcher: patient } as RequestInit;
    const answer = await undiciFetch(String(input), request);
    const { ok, status, statusText } = answer;
    const headers = new Headers([...answer.headers]);
    const body = answer.body?.pipeThrough(ok ? withinBounds(limits, framing) : cutAt(maxErrorAnswerBytes)) ?? null;
    return new Response(body, { status, statusText, headers });
  };
}

/**
 * How a provider separates the documents that it streams: `events` server-sent events · `deltas` those of chat
 * completions, of which each is a change · `frames` the binary frames of AWS.
 */
export type StreamFraming = 'events' | 'deltas' | 'frames';

/** Of a whole answer, and of one event or frame in it. */
type AnswerBounds = Readonly<Record<'maxAnswerBytes' | 'maxEventBytes' | 'maxEventSigns', number>>;

/** A response that exceeds a limit of size, or that is too expensive to parse on the event loop. */
export class AnswerTooLargeError extends Error {
  override readonly name = 'AnswerTooLargeError';
}

type BytesTransform = TransformStream<Uint8Array, Uint8Array>;

/** Cuts a body: what follows is not read. */
function cutAt(maxBytes: number): BytesTransform {
  let left = maxBytes;
  return new TransformStream({
    transform(chunk, controller) {
      controller.enqueue(chunk.subarray(0, left));
      left -= chunk.byteLength;
      if (left <= 0) controller.terminate();
    },
  });
}

/**
 * Fails the body of an answer that is too large, or has a document that is. SDKs buffer and parse each document whole.
 * The framing is that of the SDK: the headers of the answer cannot choose how it is counted.
 */
function withinBounds(bounds: AnswerBounds, framing: StreamFraming): BytesTransform {
  const reader = framing === 'frames' ? new FrameReader(bounds) : new EventReader(bounds);
  let size = 0;
  return new TransformStream({
    transform(chunk, controller) {
      size += chunk.byteLength;
      requireAtMost(size, bounds.maxAnswerBytes, 'The response');
      for (const piece of reader.read(chunk)) controller.enqueue(piece);
    },
    flush(controller) {
      const rest = reader.rest();
      if (rest.length > 0) controller.enqueue(rest);
    },
  });
}

function requireAtMost(size: number, maxBytes: number, what: string): void {
  if (size > maxBytes) throw new AnswerTooLargeError(`${what} is larger than ${maxBytes} bytes.`);
}

function requireCheap(cost: ParseCost): void {
  if (cost.isTooHigh) throw new AnswerTooLargeError('A part of the response is too large, or has too many values.');
}

/** Counts each event of a stream, which an empty line ends. A document without such lines counts as one event. */
class EventReader {
  private readonly cost: ParseCost;
  private readonly lineEnds = new LineEnds();

  constructor({ maxEventBytes, maxEventSigns }: AnswerBounds) {
    this.cost = new ParseCost(true, maxEventBytes, maxEventSigns);
  }

  read(chunk: Uint8Array): Uint8Array[] {
    this.cost.add(chunk);
    requireCheap(this.cost);
    const bytes = this.lineEnds.unify(chunk);
    return bytes.length === 0 ? [] : [bytes];
  }

  rest(): Uint8Array {
    return NOTHING;
  }
}

const NOTHING = new Uint8Array();
/** The lengths of a frame and of its headers, and their checksum. */
const PRELUDE_BYTES = 12;
const CHECKSUM_BYTES = 4;

/**
 * Splits a stream into frames (https://smithy.io/2.0/aws/amazon-eventstream.html) and returns each whole, because the
 * decoder of the SDK copies all that it holds with every chunk and with every frame.
 */
class FrameReader {
  private frame = NOTHING;
  private held = 0;
  /** The bytes of the frame, or of its prelude until that is here. */
  private needed = PRELUDE_BYTES;

  constructor(private readonly bounds: AnswerBounds) {}

  *read(chunk: Uint8Array): Generator<Uint8Array> {
    for (let at = 0; at < chunk.length;) {
      const piece = chunk.subarray(at, at + this.needed - this.held);
      at += piece.length;
      this.hold(piece);
      if (this.held < this.needed) return;
      if (this.needed === PRELUDE_BYTES) this.readPrelude();
      else yield this.takeFrame();
    }
  }

  /** The beginning of a frame that never ended: the decoder reports it. */
  rest(): Uint8Array {
    return this.frame.subarray(0, this.held);
  }

  private hold(piece: Uint8Array): void {
    const size = this.held + piece.length;
    if (size > this.frame.length) {
      const larger = new Uint8Array(Math.min(this.needed, Math.max(size, 2 * this.frame.length)));
      larger.set(this.rest());
      this.frame = larger;
    }
    this.frame.set(piece, this.held);
    this.held = size;
  }

  private readPrelude(): void {
    const length = viewOf(this.frame).getUint32(0);
    requireAtMost(length, this.bounds.maxEventBytes, 'A frame of the response');
    // The decoder refuses a length that is too short for a frame.
    this.needed = Math.max(length, PRELUDE_BYTES + CHECKSUM_BYTES);
  }

  private takeFrame(): Uint8Array {
    const frame = this.rest();
    const cost = new ParseCost(false, this.bounds.maxEventBytes, this.bounds.maxEventSigns);
    cost.add(frame.subarray(PRELUDE_BYTES + viewOf(frame).getUint32(4), -CHECKSUM_BYTES));
    requireCheap(cost);
    this.frame = NOTHING;
    this.held = 0;
    this.needed = PRELUDE_BYTES;
    return frame;
  }
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
