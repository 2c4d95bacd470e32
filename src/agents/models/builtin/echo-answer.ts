import type {
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
  LanguageModelV4ToolResultPart,
  LanguageModelV4Usage,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
} from '@ai-sdk/provider';
import { randomBytes } from 'node:crypto';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { parseDirectives, type Directive } from './directives.js';
import { BuiltinFailure } from './builtin-failure.js';
import { isRecord, isObject } from '../../../core/is-record.js';

type Parts = AsyncGenerator<LanguageModelV4StreamPart, void>;
type FinishReason = 'stop' | 'tool-calls' | 'error';

/** Yields to the rest of the process after this many words, as between two packets of a remote model. */
const WORDS_PER_TURN = 32;

/**
 * One step of the built-in model. It reports the tool that the previous step called, then follows the remaining
 * directives up to and including the next `/call`. Asked for JSON, it only streams what `/json` says, or an object that
 * fits a simple schema.
 */
export class EchoAnswer {
  private readonly callable: ReadonlySet<string>;
  private readonly isJson: boolean;
  private speaking = false;
  private words = 0;

  /** @param signal ends a `/wait` */
  constructor(
    private readonly options: LanguageModelV4CallOptions,
    private readonly signal: AbortSignal,
  ) {
    const { tools = [], toolChoice, responseFormat } = options;
    this.isJson = responseFormat?.type === 'json';
    this.callable = new Set(toolChoice?.type === 'none' ? [] : tools.map(({ name }) => name));
  }

  async *stream(): Parts {
    const { prompt } = this.options;
    const results = resultsSince(prompt);
    const latest = results.at(-1);
    let finishReason: FinishReason = 'stop';

    yield { type: 'stream-start', warnings: [] };
    if (latest) yield* this.chat(splitWords(reportToolResult(latest)));
    for (const directive of directivesLeft(parseDirectives(lastRequest(prompt)), results)) {
      finishReason = yield* this.follow(directive);
      if (finishReason !== 'stop') break;
    }
    if (this.isJson && finishReason === 'stop' && !this.speaking) yield* this.saySample();
    yield* this.stopSpeaking();
    yield {
      type: 'finish',
      finishReason: { unified: finishReason, raw: finishReason },
      usage: usage(countPromptWords(prompt), this.words),
    };
  }

  private async *saySample(): Parts {
    const { prompt, responseFormat } = this.options;
    const schema = responseFormat?.type === 'json' ? responseFormat.schema : undefined;
    yield* this.say(splitWords(JSON.stringify(sampleOf(schema, lastRequest(prompt)))));
  }

  /** Returns the finish reason if the step ends with this directive, otherwise 'stop'. */
  private async *follow(directive: Directive): AsyncGenerator<LanguageModelV4StreamPart, FinishReason> {
    switch (directive.kind) {
      case 'json':
        yield* this.say(splitWords(directive.text));
        return 'stop';
      case 'say':
        yield* this.chat(splitWords(directive.text));
        return 'stop';
      case 'words':
        yield* this.chat(numberedWords(directive.count));
        return 'stop';
      case 'random':
        yield* this.chat(randomWords(directive.count));
        return 'stop';
      case 'wait':
        await sleep(directive.milliseconds, undefined, { signal: this.signal });
        return 'stop';
      case 'fail':
        yield* this.stopSpeaking();
        yield { type: 'error', error: new BuiltinFailure(directive.message) };
        return 'error';
      case 'call':
        if (this.callable.has(directive.tool)) {
          yield* this.call(directive.tool, directive.input);
          return 'tool-calls';
        }
        yield* this.chat(splitWords(`There is no tool "${directive.tool}" to call.`));
        return 'stop';
    }
  }

  /** Says what only an answer in free form has. */
  private async *chat(pieces: Iterable<string>): Parts {
    if (!this.isJson) yield* this.say(pieces);
  }

  /** Continues the text on a new line. */
  private async *say(pieces: Iterable<string>): Parts {
    let separator = '\n';
    if (!this.speaking) {
      this.speaking = true;
      separator = '';
      yield { type: 'text-start', id: 'text' };
    }
    for (const piece of pieces) {
      yield { type: 'text-delta', id: 'text', delta: separator + piece };
      separator = '';
      this.words += 1;
      if (this.words % WORDS_PER_TURN === 0) await nextTurn();
    }
  }

  private async *stopSpeaking(): Parts {
    if (!this.speaking) return;
    this.speaking = false;
    yield { type: 'text-end', id: 'text' };
  }

  private async *call(toolName: string, input: string): Parts {
    // The prompt contains all calls of the thread, so counting them gives an id that is both new and deterministic.
    const toolCallId = `call-${countToolCalls(this.options.prompt) + 1}`;
    yield* this.stopSpeaking();
    yield { type: 'tool-input-start', id: toolCallId, toolName };
    yield { type: 'tool-input-delta', id: toolCallId, delta: input };
    yield { type: 'tool-input-end', id: toolCallId };
    yield { type: 'tool-call', toolCallId, toolName, input };
    this.words += countWords(input);
  }
}

/** The directives after the last `/call` that has its result. Calls are made one at a time, in order. */
function directivesLeft(directives: Directive[], results: readonly LanguageModelV4ToolResultPart[]): Directive[] {
  const called = results.map(({ toolName }) => toolName);
  let followed = 0;
  for (const [index, directive] of directives.entries()) {
    if (directive.kind !== 'call' || directive.tool !== called[0]) continue;
    called.shift();
    followed = index + 1;
  }
  return directives.slice(followed);
}

function* numberedWords(count: number): Generator<string> {
  for (let n = 1; n <= count; n += 1) yield n < count ? `word${n} ` : `word${n}`;
}

/** Words that no other call of the model repeats, so that a test can distinguish two attempts at an answer. */
function* randomWords(count: number): Generator<string> {
  for (let n = 1; n <= count; n += 1) yield `${randomBytes(4).toString('hex')}${n < count ? ' ' : ''}`;
}

function usage(input: number, output: number): LanguageModelV4Usage {
  return {
    inputTokens: { total: input, noCache: input, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: output, text: output, reasoning: 0 },
  };
}

type Part = Exclude<LanguageModelV4Message, { role: 'system' }>['content'][number];

/** The text of the last user message. */
function lastRequest(prompt: LanguageModelV4Prompt): string {
  const message = prompt.findLast(({ role }) => role === 'user');
  return message ? partsOf(message).map(textOf).join('\n') : '';
}

/** The results of the tools that were called since the last user message, in order. */
function resultsSince(prompt: LanguageModelV4Prompt): LanguageModelV4ToolResultPart[] {
  const request = prompt.findLastIndex(({ role }) => role === 'user');
  return prompt
    .slice(request + 1)
    .flatMap(partsOf)
    .filter((part) => part.type === 'tool-result');
}

function countToolCalls(prompt: LanguageModelV4Prompt): number {
  return prompt.flatMap(partsOf).filter((part) => part.type === 'tool-call').length;
}

function countPromptWords(prompt: LanguageModelV4Prompt): number {
  let words = 0;
  for (const message of prompt) {
    if (message.role === 'system') words += countWords(message.content);
    for (const part of partsOf(message)) words += countWords(textOf(part));
  }
  return words;
}

function partsOf(message: LanguageModelV4Message): Part[] {
  return message.role === 'system' ? [] : message.content;
}

function textOf(part: Part): string {
  if (part.type === 'tool-result') return reportToolResult(part);
  if (part.type === 'file') return `[${part.filename ?? 'file'}, ${part.mediaType}]`;
  return part.type === 'text' ? part.text : '';
}

const MAX_DEPTH = 20;

/**
 * A value that fits a JSON Schema of types, properties, items, constants and choices. One with other rules can refuse
 * it.
 * @param text the value of texts
 */
function sampleOf(schema: unknown, text: string, depth = 0): unknown {
  if (!isRecord(schema) || depth > MAX_DEPTH) return null;
  if ('const' in schema) return schema['const'];
  if (Array.isArray(schema['enum'])) return schema['enum'][0];
  const { type } = schema;
  switch (Array.isArray(type) ? (type[0] as unknown) : type) {
    case 'object': {
      const { properties } = schema;
      const named = isRecord(properties) ? Object.entries(properties) : [];
      return Object.fromEntries(named.map(([name, inner]) => [name, sampleOf(inner, text, depth + 1)]));
    }
    case 'array':
      return 'minItems' in schema ? [sampleOf(schema['items'], text, depth + 1)] : [];
    case 'number':
    case 'integer':
      return Number(schema['minimum'] ?? 0);
    case 'boolean':
      return true;
    case 'null':
      return null;
    default:
      return text;
  }
}

/** The number of words in a text: the built-in model's tokens. */
function countWords(text: string): number {
  let count = 0;
  for (const _ of text.matchAll(/\S+/g)) count += 1;
  return count;
}

/** Splits a text into words, each with the space that follows it. Joined, they give the original text. */
function* splitWords(text: string): Generator<string> {
  for (const [piece] of text.matchAll(/\s*\S+\s*|\s+/g)) yield piece;
}

/** One line about the result of a tool: `<tool> returned: <text>`, or that it failed or was denied. */
export function reportToolResult({ toolName, output }: LanguageModelV4ToolResultPart): string {
  switch (output.type) {
    case 'text':
      return `${toolName} returned: ${output.value}`;
    case 'json':
      return `${toolName} ${isMcpError(output.value) ? 'failed' : 'returned'}: ${resultText(output.value)}`;
    case 'content':
      return `${toolName} returned: ${resultText({ content: output.value })}`;
    case 'error-text':
      return `${toolName} failed: ${output.value}`;
    case 'error-json':
      return `${toolName} failed: ${resultText(output.value)}`;
    case 'execution-denied':
      return output.reason ? `${toolName} was denied: ${output.reason}` : `${toolName} was denied.`;
  }
}

/** The text blocks of an MCP tool result, one per line; for any other result, or one without text, its JSON. */
function resultText(value: unknown): string {
  if (typeof value === 'string') return value;
  const blocks = isObject(value) && Array.isArray(value.content) ? value.content : [];
  const texts = blocks.filter((block) => isObject(block) && typeof block.text === 'string').map((block) => block.text);
  return texts.length > 0 ? texts.join('\n') : JSON.stringify(value);
}

function isMcpError(value: unknown): boolean {
  return isObject(value) && value.isError === true && Array.isArray(value.content);
}
