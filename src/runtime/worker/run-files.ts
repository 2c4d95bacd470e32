import type { FileUIPart, UIMessageChunk } from 'ai';
import type { CallToolResult } from '@modelcontextprotocol/client';
import { DomainError } from '../../core/domain-error.js';
import { StorageLostError, throughOutage } from '../../core/retry.js';
import type { AnswerFiles, MadeFile } from '../files/answer-files.js';
import type { ConversationMessage, FilledConversation, ModelFiles, Takes } from '../files/model-files.js';
import type { ClaimedRun } from '../runs/records/new-run.js';
import { safeFilename } from '../files/filename.js';
import { newId } from '../../core/ids.js';
import { embeddedBytes } from './tool-output.js';

/** How long no further file is stored once the storage was away for longer than a run waits. */
const REFUSED_MS = 60_000;

/** A stored file, or a sentence that says why it was not stored. */
export type StoredFile = { part: FileUIPart; size: number } | { refusal: string };

/** The files of one run: those that its model gets, and those that come up in its answer. */
export class RunFiles {
  /** Until then the storage is taken to be away, in milliseconds of `performance.now()`. */
  private awayUntil = 0;

  constructor(
    private readonly run: ClaimedRun,
    private readonly ofModel: ModelFiles,
    private readonly ofAnswer: AnswerFiles,
  ) {}

  /**
   * The conversation with its files, for one request; release it when the request has ended.
   * @throws DomainError `file_unsupported`, or the reason of the signal
   */
  open(messages: readonly ConversationMessage[], takes: Takes, signal: AbortSignal): Promise<FilledConversation> {
    const { organizationId } = this.run;
    return throughOutage(() => this.ofModel.withFiles(organizationId, messages, takes, signal), signal);
  }

  /**
   * Stores a file that the answer then names. Its message must be stored already. A tool has done its work: whatever
   * keeps the file from being stored, the rest of the result counts.
   * @param signal of the run: when it ends, nothing more is stored
   */
  async store(file: MadeFile, signal: AbortSignal): Promise<StoredFile> {
    if (signal.aborted) return leftOut(file, 'The run was stopped.');
    if (performance.now() < this.awayUntil) return leftOut(file, 'The storage is unavailable.');
    try {
      return await throughOutage(() => this.ofAnswer.store(file, this.run, signal), signal);
    } catch (error) {
      if (signal.aborted) return leftOut(file, 'The run was stopped.');
      if (error instanceof DomainError) return leftOut(file, error.detail ?? error.title);
      if (!(error instanceof StorageLostError)) throw error;
      this.awayUntil = performance.now() + REFUSED_MS;
      return leftOut(file, error.message);
    }
  }
}

function leftOut({ mediaType, base64 }: MadeFile, why: string): StoredFile {
  return { refusal: `[A file (${mediaType}, ${Buffer.byteLength(base64, 'base64')} bytes) was left out. ${why}]` };
}

type Block = CallToolResult['content'][number];

/** The files that are stored of one result. */
const MAX_FILES = 20;
const TOO_MANY = `[A file was left out: of one result, ${MAX_FILES} files are kept.]`;
const MEDIA_TYPE = /^[\w.+-]{1,127}\/[\w.+-]{1,127}$/;
const DATA_URL = /^data:([^;,]*);base64,/;
/** As much of an address as its name is looked for in. */
const MAX_URI_LENGTH = 4096;
/** The blocks whose bytes become files. */
const STORED: ReadonlySet<Block['type']> = new Set(['image', 'audio', 'resource']);

type FileChunk = Extract<UIMessageChunk, { type: 'file' }>;

/** A part as a chunk: readers refuse one with a name. */
function chunkOf({ url, mediaType }: FileUIPart): FileChunk {
  return { type: 'file', url, mediaType };
}

/**
 * Stores the images, sounds and blobs of a result as files, so that neither the stream nor the transcript holds them: a
 * link to its file replaces each. What is no valid base64 stays as it is.
 * @returns the result, and the chunks that name the files in the answer
 */
export async function withStoredFiles(
  result: CallToolResult,
  files: RunFiles,
  signal: AbortSignal,
): Promise<{ result: CallToolResult; chunks: FileChunk[] }> {
  const chunks: FileChunk[] = [];
  const content: Block[] = [];
  let count = 0;
  for (const block of result.content ?? []) {
    const file = fileOf(block);
    if (file === undefined) content.push(block);
    else if (++count > MAX_FILES) content.push({ type: 'text', text: TOO_MANY });
    else {
      const stored = await files.store(file, signal);
      if ('part' in stored) chunks.push(chunkOf(stored.part));
      content.push('part' in stored ? linkTo(stored) : { type: 'text', text: stored.refusal });
    }
  }
  return count === 0 ? { result, chunks } : { result: { ...result, content }, chunks };
}

function fileOf(block: Block): MadeFile | undefined {
  const embedded = STORED.has(block.type) ? embeddedBytes(block) : undefined;
  if (embedded === undefined) return undefined;
  const { base64, mimeType, uri } = embedded;
  const isType = typeof mimeType === 'string' && MEDIA_TYPE.test(mimeType);
  const filename = typeof uri === 'string' ? safeFilename(uri.slice(-MAX_URI_LENGTH).replace(/[?#].*$/s, '')) : null;
  return { base64, mediaType: isType ? mimeType : '', filename };
}

function linkTo({ part, size }: { part: FileUIPart; size: number }): Block {
  const { url, mediaType, filename } = part;
  return { type: 'resource_link', uri: url, name: filename ?? mediaType, mimeType: mediaType, size };
}

/** The chunks by which readers learn of a file that the model has made. The answer must be stored already. */
export async function chunksOfMadeFile(
  chunk: Extract<UIMessageChunk, { type: 'file' | 'reasoning-file' }>,
  files: RunFiles,
  signal: AbortSignal,
): Promise<UIMessageChunk[]> {
  const [prefix, mediaType = ''] = DATA_URL.exec(chunk.url) ?? [];
  // A provider can name any address, such as one of a file that is stored here.
  if (prefix === undefined) return [{ type: 'source-url', sourceId: newId(), url: chunk.url }];
  const stored = await files.store({ base64: chunk.url.slice(prefix.length), mediaType, filename: null }, signal);
  if ('part' in stored) return [{ ...chunk, ...chunkOf(stored.part), type: chunk.type }];
  const id = newId();
  return [
    { type: 'text-start', id },
    { type: 'text-delta', id, delta: stored.refusal },
    { type: 'text-end', id },
  ];
}
