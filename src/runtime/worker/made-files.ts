import type { CallToolResult } from '@modelcontextprotocol/client';
import type { FileUIPart, UIMessageChunk } from 'ai';
import type { MadeFile } from '../files/answer-files.js';
import { safeFilename } from '../files/filename.js';
import { newId } from '../../core/ids.js';
import { embeddedBytes } from './tool-output.js';
import type { RunFiles } from './run-files.js';

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
