import { getHeapStatistics } from 'node:v8';
import { Injectable } from '@nestjs/common';
import type { UIMessage, FileUIPart } from 'ai';
import { DomainError } from '../../core/domain-error.js';
import { FairShare } from '../../core/sharing/fair-share.js';
import { half } from '../../core/sharing/shares.js';
import type { FileEntity } from './file.entity.js';
import { FileRepository } from './file.repository.js';
import { FileStore } from './file-store.js';
import { isRecord } from '../../core/is-record.js';
import { isText } from './media-type.js';

/** The bytes of files that one model request holds, the newest ones. */
const MAX_REQUEST_BYTES = 32 * 1024 * 1024;
/** The bytes of files that the runs of a process hold: less with a small heap, but enough for two requests. */
const MAX_HELD_BYTES = 128 * 1024 * 1024;
const MIN_HELD_BYTES = 2 * MAX_REQUEST_BYTES;
/** A request has its files several times: as base64, as JSON, and as it is sent. */
const SHARE_OF_HEAP = 32;
/** An organization leaves half of what there is to others, but can hold the files of one request. */
const ofOrganization = (left: number): number => Math.max(half(left), Math.min(left, MAX_REQUEST_BYTES));

/** A message of a conversation; `isRequest` for those that the run answers. */
export type ConversationMessage = UIMessage & { isRequest: boolean };

/** A conversation with its files. */
export interface FilledConversation {
  readonly messages: UIMessage[];
  /** Gives the memory of the files back. */
  release(): void;
}

/**
 * Puts files into a conversation as models get them: as content where the model takes the type, and texts as text. An
 * earlier file that the model cannot get is named by a sentence; one in the request itself fails the run before the
 * model is called. All runs of the process share the memory for files, and wait for it in turns.
 */
@Injectable()
export class ModelFiles {
  private readonly memory = FairShare.ofTurns(
    Math.max(MIN_HELD_BYTES, Math.min(MAX_HELD_BYTES, getHeapStatistics().heap_size_limit / SHARE_OF_HEAP)),
    [ofOrganization],
  );

  constructor(
    private readonly repository: FileRepository,
    private readonly store: FileStore,
  ) {}

  /** @throws DomainError `file_unsupported`, or the reason of the signal */
  async withFiles(
    organizationId: string,
    messages: readonly ConversationMessage[],
    takes: Takes,
    signal: AbortSignal,
  ): Promise<FilledConversation> {
    const ids = messages.flatMap(({ parts }) => namedFiles(parts).map(idOf));
    if (ids.length === 0) return { messages: [...messages], release: () => undefined };
    const files = new Map((await this.repository.findAll(organizationId, ids)).map((file) => [file.id, file]));
    const chosen = chooseFiles(messages, files, takes);
    const units = [...chosen.keys()].reduce((sum, id) => sum + (files.get(id)?.size ?? 0), 0);
    const claim = { holder: [organizationId], units };
    await this.memory.take(claim, signal);
    try {
      const known = { files, bytes: await this.readAll(chosen, files), takes };
      // From the newest on, as the files were chosen: each is given once.
      const filled = messages.toReversed().map((message) => ({ ...message, parts: modelParts(message, known) }));
      return {
        messages: filled.toReversed(),
        release: () => this.memory.giveBack(claim),
      };
    } catch (error) {
      this.memory.giveBack(claim);
      throw error;
    }
  }

  /** A file that is deleted while the run waits for memory is left out. */
  private async readAll(
    chosen: ReadonlyMap<string, string>,
    files: Map<string, FileEntity>,
  ): Promise<Map<string, Buffer>> {
    const bytes = new Map<string, Buffer>();
    for (const [id, contentId] of chosen) {
      const file = files.get(id) as FileEntity;
      try {
        bytes.set(id, await this.read(contentId, file.size));
      } catch (error) {
        const now = await this.repository.find(file.organizationId, id);
        if (now?.contentId != null) throw error;
        files.set(id, { ...file, contentId: null });
      }
    }
    return bytes;
  }

  private async read(contentId: string, size: number): Promise<Buffer> {
    const chunks: Buffer[] = [];
    for await (const chunk of this.store.read(contentId, { start: 0, end: size })) chunks.push(chunk);
    return Buffer.concat(chunks);
  }
}

/**
 * The contents of the files that the model gets, by the ids of the files: the newest ones that fit.
 * @throws DomainError `file_unsupported`
 */
function chooseFiles(
  messages: readonly ConversationMessage[],
  files: ReadonlyMap<string, FileEntity>,
  takes: Takes,
): Map<string, string> {
  const chosen = new Map<string, string>();
  let room = MAX_REQUEST_BYTES;
  for (const { parts, isRequest } of messages.toReversed()) {
    for (const part of namedFiles(parts).toReversed()) {
      const file = files.get(idOf(part));
      if (file?.contentId == null || chosen.has(file.id)) continue;
      const obstacle = obstacleOfType(part.mediaType, file.size, takes);
      if (obstacle !== undefined && isRequest)
        throw new DomainError('file_unsupported', `${nameOf(part)} ${obstacle}.`);
      if (obstacle !== undefined || file.size > room) continue;
      room -= file.size;
      chosen.set(file.id, file.contentId);
    }
  }
  return chosen;
}

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
function namedFiles(parts: readonly Part[]): FileUIPart[] {
  return parts.filter((part): part is FileUIPart => part.type === 'file' && STORED.test(part.url));
}

function idOf({ url }: FileUIPart): string {
  return STORED.exec(url)?.[1] as string;
}

function nameOf({ filename, mediaType }: FileUIPart): string {
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
function modelParts({ role, parts }: Pick<UIMessage, 'role' | 'parts'>, known: KnownFiles): Part[] {
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
