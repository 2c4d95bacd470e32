import type {
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
  LanguageModelV4ToolResultPart,
  LanguageModelV4Usage,
} from '@ai-sdk/provider';
import { randomBytes } from 'node:crypto';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { BuiltinFailure } from './builtin-failure.js';
import { countPromptWords, countToolCalls, lastRequest, resultsSince } from './conversation.js';
import { parseDirectives, type Directive } from './directives.js';
import { sampleOf } from './sample-value.js';
import { reportToolResult } from './tool-report.js';
import { countWords, splitWords } from './words.js';

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
