import type { CallToolResult } from '@modelcontextprotocol/client';
import type { ToolResultPart } from 'ai';
import { excessOf, isTooDeep, MAX_VALUE_BYTES } from './answer-limits.js';
import { isRecord } from '../../core/is-record.js';

const MAX_ERROR_LENGTH = 10_000;
/** The characters of one output that a model receives: about 25,000 tokens. The transcript keeps all of it. */
const MAX_MODEL_OUTPUT_LENGTH = 100_000;
/** The characters and blocks that the transcript keeps of a result that exceeds its limit. */
const MAX_CUT_LENGTH = MAX_VALUE_BYTES - 4096;
const MAX_CUT_BLOCKS = 1000;
/** What models take as parts. */
const MEDIA_TYPE = /^(?:(?:image|audio)\/[\w.+-]+|application\/pdf)$/;

/** The outcome of a tool call, as the stream and the transcript show it. */
export type ToolOutcome = { output: unknown } | { errorText: string };

/**
 * Converts an MCP result to an outcome. A failed tool gives the reason in its text content. A result that is too large
 * for the transcript is cut, and says so.
 */
export function toOutcome(result: CallToolResult): ToolOutcome {
  if (result.isError === true) {
    const text = textOf(result).slice(0, MAX_ERROR_LENGTH);
    return { errorText: text === '' ? 'The tool failed without an error message.' : text };
  }
  const excess = excessOf(result);
  if (excess === undefined) return { output: result };
  return isTooDeep(result) ? { errorText: `The tool's result is ${excess}.` } : { output: cutResult(result) };
}

/** The first content blocks, the last of them cut, and a block that says how much was left out. */
function cutResult({ content = [], structuredContent }: CallToolResult): CallToolResult {
  let room = MAX_CUT_LENGTH;
  let leftOut = structuredContent === undefined ? 0 : JSON.stringify(structuredContent).length;
  const kept: CallToolResult['content'] = [];
  for (const block of content) {
    const length = block.type === 'text' ? block.text.length : JSON.stringify(block).length;
    const fits = kept.length < MAX_CUT_BLOCKS ? Math.min(length, room) : 0;
    if (fits === length) kept.push(block.type === 'text' ? { type: 'text', text: block.text } : block);
    else if (fits > 0 && block.type === 'text')
      kept.push({ type: 'text', text: block.text.slice(0, fits).toWellFormed() });
    const taken = fits === length || block.type === 'text' ? fits : 0;
    room -= taken;
    leftOut += length - taken;
  }
  return { content: [...kept, { type: 'text', text: leftOutNote(leftOut) }] };
}

function leftOutNote(characters: number): string {
  return `[${characters} characters of this output were left out.]`;
}

/**
 * Converts a stored output for the model: to text if it holds only text, to parts if it holds images, sounds or PDFs,
 * otherwise to JSON. The model receives the beginning of a long output, as text.
 */
export function toModelOutput(output: unknown): ToolResultPart['output'] {
  if (isToolResult(output)) {
    if (output.content.every(({ type }) => type === 'text')) return { type: 'text', value: cutText(textOf(output)) };
    const media = output.content.map(mediaOf);
    if (media.some((part) => part !== undefined)) return { type: 'content', value: partsOf(output.content, media) };
  }
  const text = JSON.stringify(output ?? null);
  return text.length > MAX_MODEL_OUTPUT_LENGTH
    ? { type: 'text', value: cutText(text) }
    : { type: 'json', value: JSON.parse(text) };
}

type ContentPart = Extract<ToolResultPart['output'], { type: 'content' }>['value'][number];

/** Every image, sound and PDF as a part; texts, and everything else as JSON, within the limit for all of them. */
function partsOf(content: CallToolResult['content'], media: readonly (ContentPart | undefined)[]): ContentPart[] {
  let room = MAX_MODEL_OUTPUT_LENGTH;
  return content.flatMap((block, index) => {
    const part = media[index];
    if (part !== undefined) return [part];
    const text = block.type === 'text' ? block.text : JSON.stringify(block);
    const shown = cutText(text, room);
    room = Math.max(0, room - text.length);
    return [{ type: 'text', text: shown }];
  });
}

/** The image, sound or PDF of a block, which can be embedded as a resource; undefined for any other. */
function mediaOf(block: CallToolResult['content'][number]): ContentPart | undefined {
  const { base64, mimeType } = embeddedBytes(block) ?? {};
  const isMedia = typeof mimeType === 'string' && MEDIA_TYPE.test(mimeType);
  if (base64 === undefined || !isMedia) return undefined;
  return { type: 'file', mediaType: mimeType, data: { type: 'data', data: base64 } };
}

function cutText(text: string, maxLength = MAX_MODEL_OUTPUT_LENGTH): string {
  const leftOut = text.length - maxLength;
  if (leftOut <= 0) return text;
  return `${text.slice(0, maxLength).toWellFormed()}\n${leftOutNote(leftOut)}`;
}

function isToolResult(output: unknown): output is CallToolResult {
  return typeof output === 'object' && output !== null && 'content' in output && Array.isArray(output.content);
}

function textOf(result: CallToolResult): string {
  return (result.content ?? []).flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');
}

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** Bytes in a result of a tool, and what is said of them: neither upstreams nor stored results are validated. */
interface EmbeddedBytes {
  readonly base64: string;
  readonly mimeType: unknown;
  /** The address of an embedded resource. */
  readonly uri: unknown;
}

/** The bytes that a block has itself, or as an embedded resource; undefined if it has none that are valid base64. */
export function embeddedBytes(block: CallToolResult['content'][number]): EmbeddedBytes | undefined {
  const isResource = block.type === 'resource';
  const holder: unknown = isResource ? block.resource : block;
  if (!isRecord(holder)) return undefined;
  const base64 = holder[isResource ? 'blob' : 'data'];
  if (typeof base64 !== 'string' || !BASE64.test(base64)) return undefined;
  return { base64, mimeType: holder['mimeType'], uri: holder['uri'] };
}
