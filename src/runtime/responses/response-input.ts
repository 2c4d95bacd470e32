import { DomainError } from '../../core/domain-error.js';
import type { ErrorCode } from '../../core/error-codes.js';
import { isRecord } from '../../core/is-record.js';
import { MAX_REASON_LENGTH } from '../approvals/approval.dto.js';
import { MAX_FILENAME_LENGTH, MAX_MESSAGES, MAX_PARTS, type RunRequest } from '../runs/run-request.dto.js';
import { approvalOfItem } from './response-ids.js';

type SentPart = RunRequest['messages'][number]['parts'][number];

/** An answer to a request for an approval. */
export interface SentApproval {
  readonly approvalId: string;
  readonly approved: boolean;
  readonly reason: string | undefined;
  /** Where it is in the request. */
  readonly path: string;
}

/** An item of the conversation so far that the caller sends again. */
export interface EarlierItem {
  readonly path: string;
  /** Absent for a message without an id. */
  readonly id?: string | undefined;
  /** Of a message. */
  readonly message?: { readonly role: 'user' | 'assistant'; readonly text: string } | undefined;
}

/** The input of a response request. It has a question or approvals. */
export interface ParsedInput {
  /** The texts of system and developer messages. */
  readonly system: readonly string[];
  readonly earlier: readonly EarlierItem[];
  readonly question: readonly SentPart[] | undefined;
  /** Where the content of each part of the question is in the request. */
  readonly questionPaths: readonly string[];
  readonly approvals: readonly SentApproval[];
}

/** Items that stand for something that the run did. */
const DONE_BY_RUN = new Set(['reasoning', 'mcp_call', 'mcp_list_tools', 'mcp_approval_request', 'item_reference']);
/** Calls of tools that the caller would have. */
const TOOLS_OF_CALLER = /^(?:function|custom_tool|computer|local_shell|shell|apply_patch|tool_search)_call/;
/** With its instructions, a request has no more messages than a post. */
const MAX_ITEMS = MAX_MESSAGES - 1;

/**
 * Reads the input: the last user message is new, or the answers to approval requests after it; what is before belongs
 * to the conversation so far.
 * @throws DomainError `invalid_request`, `tools_unsupported`, `input_mismatch`
 */
export function parseInput(input: unknown): ParsedInput {
  if (typeof input === 'string') {
    const question = [{ type: 'text' as const, text: input }];
    return { system: [], earlier: [], question, questionPaths: ['input'], approvals: [] };
  }
  if (!Array.isArray(input)) throw fault('invalid_request', 'input', 'Must be a text or a list of items.');
  if (input.length > MAX_ITEMS) throw fault('invalid_request', 'input', `Can have at most ${MAX_ITEMS} items.`);
  const items = input.map((item: unknown, index) => parseItem(item, `input[${index}]`));
  const lastQuestion = items.findLastIndex(({ kind }) => kind === 'user');
  const lastDone = items.findLastIndex(({ kind }) => kind === 'earlier');
  const approvals = items.slice(lastQuestion + 1).flatMap((item) => (item.kind === 'approval' ? [item.approval] : []));
  const isNew = (index: number): boolean => approvals.length === 0 && index === lastQuestion;
  if (approvals.length === 0 && lastQuestion === -1) {
    throw fault('invalid_request', 'input', 'Must have a user message, or answers to approval requests.');
  }
  if (approvals.length === 0 && lastDone > lastQuestion) {
    throw fault('input_mismatch', `input[${lastDone}]`, 'The last item must be the new user message.');
  }
  const [question] = items.flatMap((item, index) => (item.kind === 'user' && isNew(index) ? [item] : []));
  return {
    system: items.flatMap((item) => (item.kind === 'system' ? [item.text] : [])),
    earlier: items.flatMap((item, index) => {
      if (item.kind === 'earlier') return [item.earlier];
      if (item.kind !== 'user' || isNew(index)) return [];
      return [{ path: item.path, message: { role: 'user' as const, text: textOf(item.parts) } }];
    }),
    question: question?.parts,
    questionPaths: question?.paths ?? [],
    approvals,
  };
}

/** The texts of parts, for a comparison with what is stored. */
export function textOf(parts: readonly { type: string; text?: string | undefined }[]): string {
  return parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
}

/** A fault that posting has found in a file of the question, where the request has the file; any other one as it is. */
export function asFaultOfInput(error: unknown, { questionPaths }: ParsedInput): unknown {
  const [found] = error instanceof DomainError ? (error.errors ?? []) : [];
  const at = /^messages\[\d+\]\.parts\[(?<at>\d+)\]/.exec(found?.path ?? '')?.groups?.['at'];
  const path = questionPaths[Number(at)];
  if (!(error instanceof DomainError) || found === undefined || path === undefined) return error;
  return fault(error.code, path, found.message);
}

export function fault(code: ErrorCode, path: string, message: string): DomainError {
  return new DomainError(code, `${path}: ${message}`, [{ path, code, message }]);
}

type Item =
  | { readonly kind: 'system'; readonly text: string }
  | {
      readonly kind: 'user';
      readonly path: string;
      readonly parts: readonly SentPart[];
      readonly paths: readonly string[];
    }
  | { readonly kind: 'earlier'; readonly earlier: EarlierItem }
  | { readonly kind: 'approval'; readonly approval: SentApproval };

function parseItem(item: unknown, path: string): Item {
  if (!isRecord(item)) throw fault('invalid_request', path, 'Must be an item.');
  const { type = 'role' in item ? 'message' : 'item_reference', id } = item;
  if (type === 'message') return parseMessage(item, path);
  if (type === 'mcp_approval_response') return { kind: 'approval', approval: parseApproval(item, path) };
  if (typeof type === 'string' && TOOLS_OF_CALLER.test(type)) {
    throw fault('tools_unsupported', path, 'The agent has its tools; those of the caller are not called.');
  }
  if (typeof type !== 'string' || !DONE_BY_RUN.has(type)) {
    throw fault('invalid_request', `${path}.type`, 'Items of this type are not accepted.');
  }
  if (typeof id !== 'string') throw fault('invalid_request', `${path}.id`, 'Must be the id of an item.');
  return { kind: 'earlier', earlier: { path, id } };
}

function parseMessage({ role, content, id }: Record<string, unknown>, path: string): Item {
  const at = `${path}.content`;
  if (role === 'system' || role === 'developer') return { kind: 'system', text: textOf(partsOf(content, at, INPUT)) };
  if (role === 'user') return { kind: 'user', path, parts: partsOf(content, at, INPUT), paths: pathsOf(content, at) };
  if (role !== 'assistant') {
    throw fault('invalid_request', `${path}.role`, 'Must be user, assistant, system or developer.');
  }
  const text = textOf(partsOf(content, at, OUTPUT));
  return { kind: 'earlier', earlier: { path, message: { role, text }, ...(typeof id === 'string' && { id }) } };
}

function parseApproval(item: Record<string, unknown>, path: string): SentApproval {
  const { approval_request_id: requestId, approve, reason } = item;
  const approvalId = typeof requestId === 'string' ? approvalOfItem(requestId) : undefined;
  if (approvalId === undefined) {
    throw fault('invalid_request', `${path}.approval_request_id`, 'Must be the id of an approval request.');
  }
  if (typeof approve !== 'boolean') throw fault('invalid_request', `${path}.approve`, 'Must be a boolean.');
  if (reason === undefined || reason === null || reason === '')
    return { approvalId, approved: approve, reason: undefined, path };
  if (typeof reason !== 'string' || reason.length > MAX_REASON_LENGTH) {
    throw fault('invalid_request', `${path}.reason`, `Must be a text of at most ${MAX_REASON_LENGTH} characters.`);
  }
  return { approvalId, approved: approve, reason, path };
}

const INPUT = new Set(['input_text', 'input_image', 'input_file']);
const OUTPUT = new Set(['output_text', 'refusal', 'input_text']);

function partsOf(content: unknown, path: string, types: ReadonlySet<string>): SentPart[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  if (!Array.isArray(content) || content.length === 0) {
    throw fault('invalid_request', path, 'Must be a text or a list of parts.');
  }
  if (content.length > MAX_PARTS) throw fault('invalid_request', path, `Can have at most ${MAX_PARTS} parts.`);
  return content.map((part: unknown, index) => parsePart(part, `${path}[${index}]`, types));
}

function pathsOf(content: unknown, path: string): string[] {
  if (!Array.isArray(content)) return [path];
  return content.map((part: Record<string, unknown>, index) => `${path}[${index}].${memberOf(part)}`);
}

/** The member of a part that has its content. */
function memberOf({ type, file_data: data }: Record<string, unknown>): string {
  if (type === 'input_image') return 'image_url';
  if (type !== 'input_file') return 'text';
  return data === undefined || data === null ? 'file_url' : 'file_data';
}

function parsePart(part: unknown, path: string, types: ReadonlySet<string>): SentPart {
  if (!isRecord(part) || typeof part['type'] !== 'string' || !types.has(part['type'])) {
    throw fault('invalid_request', `${path}.type`, `Must be one of ${[...types].join(', ')}.`);
  }
  if (part['type'] === 'input_image') {
    return {
      type: 'file',
      mediaType: typeOfDataUrl(part['image_url']) ?? 'image/*',
      url: urlOf(part['image_url'], `${path}.image_url`),
    };
  }
  if (part['type'] === 'input_file') return filePart(part, path);
  const text = part[part['type'] === 'refusal' ? 'refusal' : 'text'];
  if (typeof text !== 'string') throw fault('invalid_request', `${path}.text`, 'Must be a text.');
  return { type: 'text', text };
}

/** A file whose content is sent, or which was uploaded to this service: its url is then the one of the upload. */
function filePart(part: Record<string, unknown>, path: string): SentPart {
  const { filename } = part;
  const member = memberOf(part);
  const address = urlOf(part[member], `${path}.${member}`);
  const isAbsent = filename === undefined || filename === null;
  if (!isAbsent && (typeof filename !== 'string' || filename.length > MAX_FILENAME_LENGTH)) {
    throw fault('invalid_request', `${path}.filename`, `Must be a text of at most ${MAX_FILENAME_LENGTH} characters.`);
  }
  const mediaType = typeOfDataUrl(address) ?? 'application/octet-stream';
  return { type: 'file', mediaType, url: address, ...(typeof filename === 'string' && { filename }) };
}

function urlOf(url: unknown, path: string): string {
  if (typeof url === 'string') return url;
  throw fault('invalid_request', path, 'Must be a data: URL, or the url of a file of this service.');
}

function typeOfDataUrl(url: unknown): string | undefined {
  return typeof url === 'string' ? /^data:([^,;]+)[,;]/.exec(url)?.[1] : undefined;
}
