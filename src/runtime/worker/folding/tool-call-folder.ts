import { UIMessageStreamError, type UIMessageChunk, type DynamicToolUIPart, type ToolUIPart, type UIMessage } from 'ai';
import { parsePartialJson } from '../../../core/json/partial-json.js';

/** A part of a message that is being folded. Tool calls are `ToolPart`s; other parts have the types of `ai`. */
export type MessagePart = ToolPart | Exclude<UIMessage['parts'][number], ToolUIPart | DynamicToolUIPart>;

/** The parts of one message in order, and where its current step begins. */
export class MessageParts {
  private readonly list: MessagePart[] = [];
  private stepStart = 0;

  push(part: MessagePart): void {
    this.list.push(part);
  }

  startStep(): void {
    this.stepStart = this.list.push({ type: 'step-start' });
  }

  /** Removes the parts that the current step has added. */
  resetStep(): void {
    this.list.length = this.stepStart;
  }

  get count(): number {
    return this.list.length;
  }

  all(): readonly MessagePart[] {
    return this.list;
  }
}

type ToolChunk = Extract<UIMessageChunk, { toolCallId: string } | { approvalId: string }>;
type ChunkOf<Type extends ToolChunk['type']> = Extract<ToolChunk, { type: Type }>;

/** Folds the chunks about tool calls into the parts of a message. */
export class ToolCallFolder {
  /** Calls whose input is being streamed, by tool call id. */
  private readonly inputs = new Map<string, ToolPart>();
  /** The calls of the current step by tool call id: a static and a dynamic call may share one. */
  private readonly stepCalls = new Map<string, ToolPart[]>();

  constructor(private readonly parts: MessageParts) {}

  startStep(): void {
    this.stepCalls.clear();
  }

  resetStep(): void {
    this.inputs.clear();
    this.stepCalls.clear();
  }

  /** @throws UIMessageStreamError on a chunk of a call without a start */
  apply(chunk: ToolChunk): void {
    switch (chunk.type) {
      case 'tool-input-start':
        this.inputs.set(chunk.toolCallId, this.write({ ...chunk, state: 'input-streaming' }));
        return;
      case 'tool-input-delta':
        return this.appendInput(chunk);
      case 'tool-input-available':
        this.write({ ...chunk, state: 'input-available' });
        return;
      case 'tool-input-error':
        return this.refuseInput(chunk);
      case 'tool-output-available':
      case 'tool-output-error':
        return this.settle(chunk);
      case 'tool-output-denied':
        this.call(chunk).state = 'output-denied';
        return;
      case 'tool-approval-request':
        return this.requestApproval(chunk);
      case 'tool-approval-response':
        return this.answerApproval(chunk);
    }
  }

  private appendInput(chunk: ChunkOf<'tool-input-delta'>): void {
    const part = this.inputs.get(chunk.toolCallId) ?? neverStarted(chunk.type, chunk.toolCallId);
    part.rawInput = `${part.rawInput ?? ''}${chunk.inputTextDelta}`;
    part.input = undefined; // parsed from the longer text on the next read
  }

  private refuseInput(chunk: ChunkOf<'tool-input-error'>): void {
    // A call that has started keeps its kind, even if the error chunk names another.
    const started = this.stepCalls.get(chunk.toolCallId)?.[0];
    const dynamic = started ? isDynamic(started) : chunk.dynamic;
    this.write({ ...chunk, dynamic, state: 'output-error', title: undefined });
  }

  private settle(chunk: ChunkOf<'tool-output-available' | 'tool-output-error'>): void {
    const part = this.call(chunk);
    const dynamic = isDynamic(part);
    const rawInput = chunk.type === 'tool-output-error' && !dynamic ? part.rawInput : undefined;
    const state = chunk.type === 'tool-output-error' ? 'output-error' : 'output-available';
    updateToolPart(part, { ...chunk, state, dynamic, toolName: toolNameOf(part), input: inputOf(part), rawInput });
  }

  private requestApproval(chunk: ChunkOf<'tool-approval-request'>): void {
    const part = this.call(chunk);
    part.state = 'approval-requested';
    part.approval = withoutUndefined({
      id: chunk.approvalId,
      descriptor: chunk.approvalDescriptor ?? undefined,
      inputSchemaInput: chunk.inputSchemaInput,
      requestReason: chunk.reason,
      isAutomatic: chunk.isAutomatic === true ? true : undefined,
      signature: chunk.signature,
    });
  }

  private answerApproval(chunk: ChunkOf<'tool-approval-response'>): void {
    const { approvalId, approved, reason } = chunk;
    const part =
      this.parts
        .all()
        .filter(isToolPart)
        .find((candidate) => candidate.approval?.id === approvalId) ?? neverStarted(chunk.type, approvalId);
    part.state = 'approval-responded';
    part.approval = withoutUndefined({
      ...part.approval,
      id: approvalId,
      approved,
      reason: reason ?? part.approval?.reason,
    });
    part.providerExecuted = chunk.providerExecuted ?? part.providerExecuted;
    part.callProviderMetadata = chunk.providerMetadata ?? part.callProviderMetadata;
  }

  /** Updates the call's part in the current step, or adds one. */
  private write(update: ToolUpdate): ToolPart {
    const known = this.stepCalls.get(update.toolCallId)?.find((part) => isDynamic(part) === Boolean(update.dynamic));
    if (known) {
      updateToolPart(known, update);
      return known;
    }
    const added = createToolPart(update);
    this.parts.push(added);
    const same = this.stepCalls.get(added.toolCallId);
    if (same === undefined) this.stepCalls.set(added.toolCallId, [added]);
    else same.push(added);
    return added;
  }

  /** The call that a chunk is about: in the current step, otherwise the latest one with that id. */
  private call(chunk: { type: ToolChunk['type']; toolCallId: string }): ToolPart {
    return (
      this.stepCalls.get(chunk.toolCallId)?.[0] ??
      this.parts
        .all()
        .filter(isToolPart)
        .findLast((part) => part.toolCallId === chunk.toolCallId) ??
      neverStarted(chunk.type, chunk.toolCallId)
    );
  }
}

function neverStarted(chunkType: string, chunkId: string): never {
  throw new UIMessageStreamError({
    chunkType,
    chunkId,
    message: `${chunkType} for "${chunkId}", which never started.`,
  });
}

/** Returns a shallow copy without undefined fields, as in JSON. */
export function withoutUndefined<T extends object>(value: T): T {
  const copy = { ...value };
  for (const key in copy) if (copy[key] === undefined) delete copy[key];
  return copy;
}

type InputStart = Extract<UIMessageChunk, { type: 'tool-input-start' }>;
type ProviderMetadata = InputStart['providerMetadata'];

/** The fields of a tool call that both a part and a chunk can have. */
interface ToolFacts extends Pick<InputStart, 'toolCallId' | 'title' | 'toolMetadata' | 'inputEncoding'> {
  state: (ToolUIPart | DynamicToolUIPart)['state'];
  input?: unknown;
  /** The input text so far, while it is streamed. */
  rawInput?: unknown;
  output?: unknown;
  errorText?: string;
  preliminary?: boolean;
  providerExecuted?: boolean;
}

/**
 * A tool call in a message that is being folded. It merges all states of `ToolUIPart` and `DynamicToolUIPart` of `ai`,
 * because one call passes through several of them.
 */
interface ToolPart extends ToolFacts {
  type: ToolUIPart['type'] | 'dynamic-tool';
  /** Dynamic tools only: the type of a static one is `tool-<name>`. */
  toolName?: string;
  callProviderMetadata?: ProviderMetadata;
  resultProviderMetadata?: ProviderMetadata;
  approval?: { id: string; [detail: string]: unknown };
}

/** A new state of a tool call. Input, output and error that it does not repeat are cleared. */
interface ToolUpdate extends ToolFacts {
  toolName: string;
  dynamic?: boolean;
  providerMetadata?: ProviderMetadata;
}

export function isToolPart(part: { type: string }): part is ToolPart {
  return part.type === 'dynamic-tool' || part.type.startsWith('tool-');
}

function isDynamic(part: ToolPart): boolean {
  return part.type === 'dynamic-tool';
}

function toolNameOf(part: ToolPart): string {
  return part.toolName ?? part.type.slice('tool-'.length);
}

/** The input. While it is streamed, it is parsed from the text so far. */
export function inputOf(part: ToolPart): unknown {
  if (part.input !== undefined || typeof part.rawInput !== 'string') return part.input;
  return part.inputEncoding === 'text' ? part.rawInput : parsePartialJson(part.rawInput);
}

function createToolPart(update: ToolUpdate): ToolPart {
  const part: ToolPart = { type: 'dynamic-tool', toolCallId: update.toolCallId, state: update.state };
  updateToolPart(part, update);
  return part;
}

function updateToolPart(part: ToolPart, update: ToolUpdate): void {
  if (update.dynamic) part.toolName = update.toolName;
  else part.type = `tool-${update.toolName}`;

  part.state = update.state;
  part.input = update.input;
  part.rawInput = update.rawInput;
  part.inputEncoding = update.inputEncoding;
  part.output = update.output;
  part.errorText = update.errorText;
  part.preliminary = update.preliminary;

  // Often sent only once, when the call starts.
  part.title = update.title ?? part.title;
  part.toolMetadata = update.toolMetadata ?? part.toolMetadata;
  part.providerExecuted = update.providerExecuted ?? part.providerExecuted;

  const settled = update.state === 'output-available' || update.state === 'output-error';
  if (settled) part.resultProviderMetadata = update.providerMetadata ?? part.resultProviderMetadata;
  else part.callProviderMetadata = update.providerMetadata ?? part.callProviderMetadata;
}
