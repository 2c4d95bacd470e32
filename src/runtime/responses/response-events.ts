import type { UIMessageChunk } from 'ai';
import type { DomainError } from '../../core/domain-error.js';
import { toDomainError } from '../../core/to-domain-error.js';
import type { FrameForm } from '../streaming/frame-form.js';
import { type CallEnd, messageItem, reasoningItem, StepCalls } from './output-items.js';
import { itemId, type ItemPlace } from './response-ids.js';
import {
  type ApprovalOutput,
  type CallOutput,
  type OutputItem,
  outputText,
  type ResponseObject,
} from './response-object.js';

const DONE_FRAME = 'data: [DONE]\n\n';

/** The last event, by the status of the response. A cancelled response is an incomplete one: it has no event. */
const LAST_EVENTS: Readonly<Partial<Record<ResponseObject['status'], string>>> = {
  completed: 'response.completed',
  failed: 'response.failed',
};

/** The number of the last event that comes before those of frames. It has the same number in each stream. */
export const LAST_OPENING_EVENT = 1;

/** What the events need besides the frames. */
interface ResponseSource {
  readonly runId: string;
  /** The last event that the reader has. */
  readonly startingAfter?: number | undefined;
  /** The response before its first output, and its place among the answers of the run, from 0. */
  begin(): Promise<{ response: ResponseObject; segment: number }>;
  /** The response as it is stored. @param roundOf how often the reader has seen a step begin again */
  read(roundOf: (step: number) => number | undefined): Promise<ResponseObject>;
  /** A call needs an approval: the run can begin to wait. */
  onAsk(): void;
}

/** A text or a thought that has begun, and is not an item for good until its step's model call is over. */
interface OpenText {
  readonly kind: 'text' | 'reasoning';
  readonly place: ItemPlace;
  readonly outputIndex: number;
  text: string;
  isEnded: boolean;
}

type Chunk<Type extends UIMessageChunk['type']> = Extract<UIMessageChunk, { type: Type }>;

/**
 * The semantic events of one response, from the chunks of its run. The same chunks give the same events with the same
 * numbers, so a reader that comes back is sent those that it lacks. Chunks that were made again from the transcript are
 * others: they have one delta for each text.
 *
 * Items have the order of the response. In each step, these are the texts and then the calls, in the order in which the
 * model has made them: a call that ends before an earlier one is sent after it.
 *
 * Texts stay open until the model call of their step is over. A step that begins again takes them back: they end as
 * incomplete, and their successors are new items.
 */
export class ResponseEvents implements FrameForm {
  readonly endsWhenWaiting = true;
  private sequence = 0;
  private outputIndex = 0;
  private step = 0;
  private itemsInStep = 0;
  private agentId = '';
  private segment = 0;
  /** The one that the reader wants. */
  private wanted = Infinity;
  private asked = false;
  /** The step has a decision on its requests for approvals, so that it has begun a segment. */
  private isDecided = false;
  private readonly rounds = new Map<number, number>();
  private readonly texts = new Map<string, OpenText>();
  private readonly calls = new StepCalls();
  private events = '';
  private error: DomainError | undefined;

  constructor(private readonly source: ResponseSource) {}

  get isFull(): boolean {
    return this.failure !== undefined || this.segment > this.wanted;
  }

  /** Why the response could not be read; undefined if it could. */
  get failure(): DomainError | undefined {
    return this.error;
  }

  /** The number of the last event so far. */
  get lastNumber(): number {
    return this.sequence - 1;
  }

  async begin(): Promise<string> {
    try {
      const { response, segment } = await this.source.begin();
      this.agentId = response.model;
      this.wanted = segment;
      this.emit('response.created', { response });
      this.emit('response.in_progress', { response });
      return this.takeEvents();
    } catch (thrown) {
      return this.fail(thrown);
    }
  }

  write(frame: string): string {
    if (!this.isFull) this.apply(JSON.parse(frame) as UIMessageChunk);
    return this.takeEvents();
  }

  resetStep(): string {
    this.takeBack();
    return this.takeEvents();
  }

  async end(): Promise<string> {
    if (this.failure !== undefined) return DONE_FRAME;
    try {
      const response = await this.source.read((step) => this.rounds.get(step));
      // The run goes on: the reader comes back, and gets the rest with the same numbers.
      if (response.status === 'queued' || response.status === 'in_progress') return this.takeEvents();
      this.settle('completed');
      for (const item of this.calls.heldBackOf(response.output)) this.sendItem(item);
      this.emit(LAST_EVENTS[response.status] ?? 'response.incomplete', { response });
      return this.takeEvents() + DONE_FRAME;
    } catch (thrown) {
      return this.fail(thrown) + DONE_FRAME;
    }
  }

  /** The event has the number of the last one before it, so that a reader that comes back after it misses none. */
  private fail(thrown: unknown): string {
    const error = toDomainError(thrown);
    const { code, detail, title } = error;
    if (code === 'internal') throw error;
    this.error = error;
    const members = { code, message: detail ?? `${title}.`, param: null };
    return this.takeEvents() + eventOf('error', Math.max(this.lastNumber, 0), members);
  }

  private apply(chunk: UIMessageChunk): void {
    switch (chunk.type) {
      case 'start-step':
        return this.beginStep();
      case 'reset-step':
        return this.takeBack();
      case 'text-start':
        return this.openText('text', chunk.id);
      case 'reasoning-start':
        return this.openText('reasoning', chunk.id);
      case 'text-delta':
        return this.growText('text', chunk);
      case 'reasoning-delta':
        return this.growText('reasoning', chunk);
      case 'text-end':
        return this.endText('text', chunk.id);
      case 'reasoning-end':
        return this.endText('reasoning', chunk.id);
      case 'tool-input-start':
        return this.calls.begin(chunk, () => this.nextPlace());
      case 'tool-input-available':
        return this.takeInput(chunk);
      case 'tool-input-error':
        this.takeInput(chunk);
        // The model may go on with a text, which comes first.
        return this.calls.end(chunk.toolCallId, { errorText: chunk.errorText }, this.agentId);
      case 'tool-output-available':
        return chunk.preliminary ? undefined : this.endCall(chunk.toolCallId, { output: chunk.output });
      case 'tool-output-error':
        return this.endCall(chunk.toolCallId, { errorText: chunk.errorText });
      case 'tool-approval-request':
        return this.ask(chunk);
      case 'tool-approval-response':
        return this.resume(chunk);
      case 'finish-step':
      case 'finish':
        return this.sendCalls();
      default:
    }
  }

  private beginStep(): void {
    this.settle('completed');
    this.step += 1;
    this.itemsInStep = 0;
    this.asked = false;
    this.isDecided = false;
    this.calls.clear();
  }

  private takeBack(): void {
    this.settle('incomplete');
    if (this.isDecided) this.segment -= 1;
    this.asked = false;
    this.isDecided = false;
    this.rounds.set(this.step, (this.rounds.get(this.step) ?? 0) + 1);
    this.itemsInStep = 0;
    this.calls.clear();
  }

  private nextPlace(): ItemPlace {
    const { runId } = this.source;
    return { runId, step: this.step, index: this.itemsInStep++, round: this.rounds.get(this.step) };
  }

  private openText(kind: OpenText['kind'], id: string): void {
    const open: OpenText = { kind, place: this.nextPlace(), outputIndex: this.nextIndex(), text: '', isEnded: false };
    this.texts.set(`${kind} ${id}`, open);
    const item = itemOf(open, 'in_progress');
    this.emit('response.output_item.added', {
      output_index: open.outputIndex,
      item: item.type === 'message' ? { ...item, content: [] } : { ...item, summary: [] },
    });
    if (kind === 'text') this.emitOf(open, 'response.content_part.added', { part: outputText('') });
    else this.emitOf(open, 'response.reasoning_summary_part.added', { part: { type: 'summary_text', text: '' } });
  }

  private growText(kind: OpenText['kind'], { id, delta }: Chunk<'text-delta' | 'reasoning-delta'>): void {
    const open = this.texts.get(`${kind} ${id}`);
    if (open === undefined || delta === '') return;
    open.text += delta;
    if (kind === 'text') this.emitOf(open, 'response.output_text.delta', { delta, logprobs: [] });
    else this.emitOf(open, 'response.reasoning_summary_text.delta', { delta });
  }

  private endText(kind: OpenText['kind'], id: string): void {
    const open = this.texts.get(`${kind} ${id}`);
    if (open === undefined || open.isEnded) return;
    open.isEnded = true;
    const { text } = open;
    if (kind === 'text') {
      this.emitOf(open, 'response.output_text.done', { text, logprobs: [] });
      this.emitOf(open, 'response.content_part.done', { part: outputText(text) });
    } else {
      this.emitOf(open, 'response.reasoning_summary_text.done', { text });
      this.emitOf(open, 'response.reasoning_summary_part.done', { part: { type: 'summary_text', text } });
    }
  }

  /** Ends the items of all texts. Those whose end has not come are incomplete. */
  private settle(status: 'completed' | 'incomplete'): void {
    for (const [key, open] of this.texts) {
      const [kind, id] = [open.kind, key.slice(open.kind.length + 1)];
      const settled = open.isEnded ? status : 'incomplete';
      this.endText(kind, id);
      this.emit('response.output_item.done', { output_index: open.outputIndex, item: itemOf(open, settled) });
    }
    this.texts.clear();
  }

  private takeInput(chunk: Chunk<'tool-input-available' | 'tool-input-error'>): void {
    this.calls.begin(chunk, () => this.nextPlace());
    this.calls.takeInput(chunk.toolCallId, chunk.input);
  }

  private endCall(toolCallId: string, end: CallEnd): void {
    this.calls.end(toolCallId, end, this.agentId);
    this.sendCalls();
  }

  private ask({ toolCallId, approvalId }: Chunk<'tool-approval-request'>): void {
    this.calls.ask(toolCallId, approvalId, this.agentId);
    if (!this.asked) this.source.onAsk();
    this.asked = true;
    this.sendCalls();
  }

  /** What follows the first decision of a step belongs to the next response. */
  private resume({ approvalId, approved }: Chunk<'tool-approval-response'>): void {
    this.asked = false;
    if (!this.isDecided) {
      this.calls.beginAnswer();
      this.segment += 1;
    }
    this.isDecided = true;
    this.calls.decide(approvalId, approved);
    this.sendCalls();
  }

  /** The calls of a step come after all of its texts. */
  private sendCalls(): void {
    this.settle('completed');
    for (const item of this.calls.takeReady()) this.sendItem(item);
  }

  private sendItem(item: CallOutput | ApprovalOutput): void {
    const outputIndex = this.nextIndex();
    const about = { item_id: item.id, output_index: outputIndex };
    if (item.type === 'mcp_approval_request') {
      this.emit('response.output_item.added', { output_index: outputIndex, item });
    } else {
      const begun = { ...item, status: 'in_progress', output: null, error: null, arguments: '' };
      this.emit('response.output_item.added', { output_index: outputIndex, item: begun });
      this.emit('response.mcp_call_arguments.delta', { ...about, delta: item.arguments });
      this.emit('response.mcp_call_arguments.done', { ...about, arguments: item.arguments });
      this.emit('response.mcp_call.in_progress', about);
      if (item.status === 'completed' || item.status === 'failed') this.emit(`response.mcp_call.${item.status}`, about);
    }
    this.emit('response.output_item.done', { output_index: outputIndex, item });
  }

  /** Items of earlier answers of the run are not counted. */
  private nextIndex(): number {
    return this.segment < this.wanted ? this.outputIndex : this.outputIndex++;
  }

  private emitOf({ kind, place, outputIndex }: OpenText, type: string, members: object): void {
    const part = kind === 'text' ? { content_index: 0 } : { summary_index: 0 };
    const id = itemId(kind === 'text' ? 'msg' : 'rs', place);
    this.emit(type, { item_id: id, output_index: outputIndex, ...part, ...members });
  }

  /** Events of earlier answers of the run are not for the reader. The first two are about its own. */
  private emit(type: string, members: object): void {
    if (this.segment < this.wanted && this.sequence > LAST_OPENING_EVENT) return;
    const number = this.sequence++;
    if (number <= (this.source.startingAfter ?? -1)) return;
    this.events += eventOf(type, number, members);
  }

  private takeEvents(): string {
    const { events } = this;
    this.events = '';
    return events;
  }
}

function eventOf(type: string, number: number, members: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: number, ...members })}\n\n`;
}

function itemOf(
  { kind, text, place }: Pick<OpenText, 'kind' | 'text' | 'place'>,
  status: 'in_progress' | 'completed' | 'incomplete',
): OutputItem & { type: 'message' | 'reasoning' } {
  return kind === 'text' ? messageItem(text, status, place) : reasoningItem(text, status, place);
}
