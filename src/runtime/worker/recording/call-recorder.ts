import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { databaseDate } from '../../../core/database-time.js';
import { countInputTokens, type ModelPrice } from '../../../agents/models/model-price.js';
import { describeProviderFailure } from '../../../agents/models/provider-failure.js';
import type { RecordedCall, RecordedResponse, RecordedTry } from '../../runs/records/model-recordings.js';
import { recordedRequest, type SentRequest, toolNamesOf, RecordedTexts } from './recorded-request.js';
import type { ClaimedRun } from '../../runs/records/new-run.js';
import type { RecordingWriter } from './recording-writer.js';

/** What is recorded of one call at most, in bytes of JSON. */
const MAX_BYTES = 524_288;

/** A tool call whose arguments are being received. The whole call takes its place. */
interface CallUnderWay {
  readonly type: 'tool-call';
  readonly toolCallId: string;
  readonly toolName: string;
  readonly isUnderWay: true;
  input: string;
}

/** A part of an answer that is being received: the content of one part of the stream, or of several with one id. */
type Received =
  | { readonly type: 'text' | 'reasoning'; readonly id: string; text: string }
  | CallUnderWay
  | Extract<LanguageModelV4StreamPart, { type: 'tool-call' | 'file' | 'reasoning-file' }>;

interface OpenTry {
  readonly startedAt: string;
  readonly beganAt: number;
}

/** Gathers what one model call sends and receives. Every request to the provider is a try; the last one counts. */
export class CallRecorder {
  private sent: SentRequest | undefined;
  private open: OpenTry | undefined;
  private readonly tries: RecordedTry[] = [];
  /** Whether another try was to follow the last one. */
  private isLastSettled = false;
  private received: Received[] = [];
  private about: Pick<RecordedResponse, 'finish_reason' | 'response_id' | 'model'> = NOTHING_SAID;

  constructor(
    private readonly organizationId: string,
    private readonly recording: RecordedCall['recording'],
    private readonly price: ModelPrice | null,
  ) {}

  /** A request is about to be made. */
  beginTry(sent: SentRequest): void {
    this.sent = sent;
    this.received = [];
    this.about = NOTHING_SAID;
    this.isLastSettled = false;
    this.open = { startedAt: databaseDate().toISOString(), beganAt: performance.now() };
  }

  /** The provider has refused the request. */
  failTry(error: unknown): void {
    this.endTry(describeProviderFailure(error).code);
  }

  /** The refused request is to be repeated: whatever becomes of the call, its error stays. */
  settleTry(): void {
    this.isLastSettled = true;
  }

  /** The next part of the provider's answer. */
  receive(part: LanguageModelV4StreamPart): void {
    switch (part.type) {
      case 'text-start':
      case 'reasoning-start':
        this.received.push({ type: part.type === 'text-start' ? 'text' : 'reasoning', id: part.id, text: '' });
        break;
      case 'text-delta':
      case 'reasoning-delta': {
        const begun = this.received.findLast((received) => 'id' in received && received.id === part.id);
        if (begun !== undefined && 'text' in begun) begun.text += part.delta;
        break;
      }
      case 'tool-input-start':
        this.received.push({
          type: 'tool-call',
          toolCallId: part.id,
          toolName: part.toolName,
          isUnderWay: true,
          input: '',
        });
        break;
      case 'tool-input-delta': {
        const begun = this.callUnderWay(part.id);
        if (begun !== undefined) begun.input += part.delta;
        break;
      }
      case 'tool-call': {
        const begun = this.callUnderWay(part.toolCallId);
        if (begun === undefined) this.received.push(part);
        else this.received[this.received.indexOf(begun)] = part;
        break;
      }
      case 'file':
      case 'reasoning-file':
        this.received.push(part);
        break;
      case 'response-metadata':
        this.about = { ...this.about, response_id: part.id ?? null, model: part.modelId ?? null };
        break;
      case 'finish':
        this.about = { ...this.about, finish_reason: part.finishReason.unified };
        break;
      default:
    }
  }

  /**
   * The record of the call as JSON, which has ended; undefined if nothing was sent, or if it is too large even without
   * its texts.
   * @param errorCode why it failed; null if it was answered
   */
  toJson(errorCode: string | null): string | undefined {
    this.endTry(errorCode);
    // The call knows better why its last try failed: it can have been stopped, or refused before it was made.
    const last = this.tries.at(-1);
    if (last !== undefined && errorCode !== null && !this.isLastSettled) last.error_code = errorCode;
    if (this.sent === undefined) return undefined;
    const tokens = countInputTokens(this.sent);
    const isRedacted = this.recording === 'redacted';
    const json = this.jsonWith(this.sent, tokens, isRedacted, false);
    if (Buffer.byteLength(json) <= MAX_BYTES) return json;
    if (isRedacted) return undefined;
    const redacted = this.jsonWith(this.sent, tokens, true, true);
    return Buffer.byteLength(redacted) <= MAX_BYTES ? redacted : undefined;
  }

  private jsonWith(sent: SentRequest, tokens: number, isRedacted: boolean, isTooLarge: boolean): string {
    const texts = new RecordedTexts(this.organizationId, isRedacted, toolNamesOf(sent));
    const call: RecordedCall = {
      recording: isRedacted ? 'redacted' : 'full',
      is_too_large: isTooLarge,
      price: this.price,
      request: recordedRequest(sent, tokens, texts),
      response: { ...this.about, parts: this.received.map((part) => recordedAnswer(part, texts)) },
      tries: this.tries,
    };
    return JSON.stringify(call);
  }

  private endTry(errorCode: string | null): void {
    if (this.open === undefined) return;
    const { startedAt, beganAt } = this.open;
    this.open = undefined;
    const duration = Math.round(performance.now() - beganAt);
    this.tries.push({ started_at: startedAt, duration_ms: duration, error_code: errorCode });
  }

  private callUnderWay(id: string): CallUnderWay | undefined {
    return this.received.findLast(
      (received): received is CallUnderWay => 'isUnderWay' in received && received.toolCallId === id,
    );
  }
}

const NOTHING_SAID = { finish_reason: null, response_id: null, model: null };

function recordedAnswer(part: Received, texts: RecordedTexts): RecordedResponse['parts'][number] {
  switch (part.type) {
    case 'tool-call':
      return texts.toolPart(part.type, part.toolName, part.toolCallId, part.input);
    case 'file':
    case 'reasoning-file':
      return texts.filePart(part.mediaType, part.data);
    default:
      return texts.part(part.type, part.text);
  }
}

/** Records the model calls of one attempt. */
export class CallRecordings {
  constructor(
    private readonly run: Pick<ClaimedRun, 'id' | 'organizationId' | 'attempt'>,
    private readonly recording: RecordedCall['recording'],
    private readonly writer: RecordingWriter,
  ) {}

  begin(price: ModelPrice | null): CallRecorder {
    return new CallRecorder(this.run.organizationId, this.recording, price);
  }

  /**
   * Stores what a call has sent and received, soon.
   * @param ordinal its place among the calls of the attempt, from 1
   */
  store(ordinal: number, recorder: CallRecorder, errorCode: string | null): void {
    const { id: runId, attempt } = this.run;
    this.writer.write({ runId, attempt, ordinal, recording: this.recording }, () => recorder.toJson(errorCode));
  }
}
