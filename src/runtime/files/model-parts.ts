import type { FileUIPart, UIMessage } from 'ai';
import { isRecord } from '../../core/is-record.js';
import type { FileEntity } from './file.entity.js';
import { isText } from './media-type.js';

const MAX_TEXT_BYTES = 256 * 1024;
/** The address of a stored file. Answers of earlier versions have `data:` URLs as well. */
const STORED = /\/files\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

type Part = UIMessage['parts'][number];
/** Whether a model takes files of a type. */
export type Takes = (mediaType: string) => boolean;

/** What is known of the files of a conversation. */
interface KnownFiles {
  readonly files: ReadonlyMap<string, FileEntity>;
  /** The bytes that the model gets, by the ids of the files. Each is taken out when it is given: once is enough. */
  readonly bytes: Map<string, Buffer>;
  readonly takes: Takes;
}

/** The stored files that the parts name. */
export function namedFiles(parts: readonly Part[]): FileUIPart[] {
  return parts.filter((part): part is FileUIPart => part.type === 'file' && STORED.test(part.url));
}

export function idOf({ url }: FileUIPart): string {
  return STORED.exec(url)?.[1] as string;
}

export function nameOf({ filename, mediaType }: FileUIPart): string {
  return filename ?? `(${mediaType})`;
}

/** Why a model cannot get any file of this type and size; undefined if it can. */
export function obstacleOfType(mediaType: string, size: number, takes: Takes): string | undefined {
  if (isText(mediaType)) return size > MAX_TEXT_BYTES ? 'is too long: texts can have 256 KiB' : undefined;
  return takes(mediaType) ? undefined : `is of a type that the model does not take: ${mediaType}`;
}

/**
 * The parts as a model gets them. Files of results of tools are in these results; any other file of an answer is named
 * by a sentence, because few models take files from themselves.
 */
export function modelParts({ role, parts }: Pick<UIMessage, 'role' | 'parts'>, known: KnownFiles): Part[] {
  const named = new Map(namedFiles(parts).map((part) => [part.url, part]));
  if (named.size === 0) return [...parts];
  if (role === 'user') return parts.map((part) => ofUser(named, part, known));
  const linked = new Set<string>();
  const filled = parts.map((part) => (part.type === 'dynamic-tool' ? withContents(part, named, known, linked) : part));
  return filled.flatMap((part) => {
    if (part.type !== 'file' || !named.has(part.url)) return [part];
    return linked.has(part.url) ? [] : [{ type: 'text', text: `[The file ${nameOf(part)}]` }];
  });
}

function ofUser(named: ReadonlyMap<string, FileUIPart>, part: Part, known: KnownFiles): Part {
  const file = part.type === 'file' ? named.get(part.url) : undefined;
  if (file === undefined) return part;
  const bytes = takeBytes(file, known);
  if (bytes === undefined) return { type: 'text', text: absence(file, known) };
  if (isText(file.mediaType)) return { type: 'text', text: `${nameOf(file)}:\n${bytes.toString('utf8')}` };
  return { ...file, url: `data:${file.mediaType};base64,${bytes.toString('base64')}` };
}

/**
 * A tool call whose result has the contents of its files in place of their links. Only files that the answer itself
 * names count: an upstream can send a link to any address.
 */
function withContents(
  call: Extract<Part, { type: 'dynamic-tool' }>,
  named: ReadonlyMap<string, FileUIPart>,
  known: KnownFiles,
  linked: Set<string>,
): Part {
  if (call.state !== 'output-available' || !isRecord(call.output) || !Array.isArray(call.output['content']))
    return call;
  const content = call.output['content'].map((block: unknown) => {
    const file = isRecord(block) && block['type'] === 'resource_link' ? named.get(String(block['uri'])) : undefined;
    if (file === undefined) return block;
    linked.add(file.url);
    return blockOf(file, known);
  });
  return { ...call, output: { ...call.output, content } };
}

function blockOf(file: FileUIPart, known: KnownFiles): object {
  const bytes = takeBytes(file, known);
  if (bytes === undefined) return { type: 'text', text: absence(file, known) };
  if (isText(file.mediaType)) return { type: 'text', text: bytes.toString('utf8') };
  return { type: 'resource', resource: { uri: file.url, mimeType: file.mediaType, blob: bytes.toString('base64') } };
}

function takeBytes(file: FileUIPart, { bytes }: KnownFiles): Buffer | undefined {
  const id = idOf(file);
  const found = bytes.get(id);
  bytes.delete(id);
  return found;
}

/** The sentence that a model gets in place of a file. */
function absence(part: FileUIPart, { files, takes }: KnownFiles): string {
  const file = files.get(idOf(part));
  const why =
    file?.contentId == null
      ? 'was deleted'
      : (obstacleOfType(part.mediaType, file.size, takes) ??
        'is left out here: the conversation has it elsewhere, or later files need the room');
  return `[The file ${nameOf(part)} ${why}.]`;
}
