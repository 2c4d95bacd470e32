import type { UIMessage } from 'ai';
import { isRecord } from '../../core/is-record.js';
import { plainJson, plainText } from '../../core/plain-text.js';
import { excessOf } from './answer-limits.js';

/** Replaces a stored part that cannot be sent to a model. */
const LEFT_OUT = '[A part of this message cannot be used and was left out.]';
/** Replaces a user message without text: some providers reject empty messages. */
export const NO_TEXT = '[This message holds no text.]';

const TOOL_NAME = /^[A-Za-z0-9_-]{1,64}$/;
const MAX_ID_LENGTH = 128;

/**
 * The parts of a stored message, without references to the provider's own records. A provider does not keep the records
 * of an interrupted answer, and other providers and accounts do not have them.
 */
export function usableMessageParts(role: UIMessage['role'], stored: unknown): UIMessage['parts'] {
  const parts = usableParts(stored);
  return role === 'user' && parts.length === 0 ? [{ type: 'text', text: NO_TEXT }] : parts.map(withoutReferences);
}

/**
 * The stored parts of a message in a form that models accept. A sentence replaces a part that no model request can hold
 * (nested too deeply, of the wrong form), so that one message cannot fail every later run of its thread. Blank texts
 * are omitted, because some providers reject them.
 */
export function usableParts(parts: unknown): UIMessage['parts'] {
  const list: readonly unknown[] = Array.isArray(parts) ? parts : [parts];
  return list.flatMap((part) => {
    if (!isUsable(part)) return [{ type: 'text', text: LEFT_OUT }];
    return part.type === 'text' && part.text.trim() === '' ? [] : [withPlainText(part)];
  });
}

/** The texts of a stored message. */
export function textOfMessage(stored: unknown): string {
  return usableParts(stored)
    .flatMap((part) => (part.type === 'text' ? [part.text] : []))
    .join('\n');
}

type Part = UIMessage['parts'][number];

/** The names under which the SDKs of OpenAI and Azure refer to records of theirs. */
const KEEPERS: ReadonlySet<string> = new Set(['openai', 'azure']);
/** The fields in which parts refer to a record of the provider. */
const METADATA = ['providerMetadata', 'callProviderMetadata', 'resultProviderMetadata'] as const;

function withoutReferences(part: Part): Part {
  const copy: Record<string, unknown> = { ...part };
  for (const field of METADATA) {
    const metadata = copy[field];
    if (isRecord(metadata))
      copy[field] = Object.fromEntries(Object.entries(metadata).filter(([key]) => !KEEPERS.has(key)));
  }
  return copy as Part;
}

function isUsable(part: unknown): part is Part {
  if (!isRecord(part) || typeof part['type'] !== 'string') return false;
  const { type, text } = part;
  if (type === 'text' || type === 'reasoning') {
    return typeof text === 'string' && excessOf(part['providerMetadata']) === undefined;
  }
  if (type === 'file') return typeof part['url'] === 'string' && typeof part['mediaType'] === 'string';
  return (type !== 'dynamic-tool' || isToolCall(part)) && isWithinLimits(part);
}

function isToolCall({ toolName, toolCallId }: Record<string, unknown>): boolean {
  if (typeof toolName !== 'string' || typeof toolCallId !== 'string') return false;
  return TOOL_NAME.test(toolName) && toolCallId.length <= MAX_ID_LENGTH;
}

/** The limits apply to each value of a part: input and output of a call can both reach them. */
function isWithinLimits(part: object): boolean {
  return Object.values(part).every((value) => excessOf(value) === undefined);
}

function withPlainText(part: Part): Part {
  if (part.type === 'text' || part.type === 'reasoning') return { ...part, text: plainText(part.text) };
  if (part.type === 'file') return part;
  const json = JSON.stringify(part);
  const plain = plainJson(json);
  return plain === json ? part : (JSON.parse(plain) as Part);
}
