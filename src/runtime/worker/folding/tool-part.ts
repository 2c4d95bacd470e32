import type { DynamicToolUIPart, ToolUIPart, UIMessageChunk } from 'ai';
import { parsePartialJson } from '../../../core/json/partial-json.js';

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
export interface ToolPart extends ToolFacts {
  type: ToolUIPart['type'] | 'dynamic-tool';
  /** Dynamic tools only: the type of a static one is `tool-<name>`. */
  toolName?: string;
  callProviderMetadata?: ProviderMetadata;
  resultProviderMetadata?: ProviderMetadata;
  approval?: { id: string; [detail: string]: unknown };
}

/** A new state of a tool call. Input, output and error that it does not repeat are cleared. */
export interface ToolUpdate extends ToolFacts {
  toolName: string;
  dynamic?: boolean;
  providerMetadata?: ProviderMetadata;
}

export function isToolPart(part: { type: string }): part is ToolPart {
  return part.type === 'dynamic-tool' || part.type.startsWith('tool-');
}

export function isDynamic(part: ToolPart): boolean {
  return part.type === 'dynamic-tool';
}

export function toolNameOf(part: ToolPart): string {
  return part.toolName ?? part.type.slice('tool-'.length);
}

/** The input. While it is streamed, it is parsed from the text so far. */
export function inputOf(part: ToolPart): unknown {
  if (part.input !== undefined || typeof part.rawInput !== 'string') return part.input;
  return part.inputEncoding === 'text' ? part.rawInput : parsePartialJson(part.rawInput);
}

export function createToolPart(update: ToolUpdate): ToolPart {
  const part: ToolPart = { type: 'dynamic-tool', toolCallId: update.toolCallId, state: update.state };
  updateToolPart(part, update);
  return part;
}

export function updateToolPart(part: ToolPart, update: ToolUpdate): void {
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
