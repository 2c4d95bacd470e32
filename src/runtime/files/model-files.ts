import { getHeapStatistics } from 'node:v8';
import { Injectable } from '@nestjs/common';
import type { FileUIPart, UIMessage } from 'ai';
import { DomainError } from '../../core/domain-error.js';
import { FairShare } from '../../core/sharing/fair-share.js';
import type { FileEntity } from './file.entity.js';
import { FileRepository } from './file.repository.js';
import { FileStore } from './file-store.js';
import { isText } from './media-type.js';

/** The bytes of files that one model request holds, the newest ones. */
const MAX_REQUEST_BYTES = 32 * 1024 * 1024;
/** The bytes of files that the runs of a process hold: less with a small heap, but enough for one request. */
const MAX_HELD_BYTES = 128 * 1024 * 1024;
/** A request has its files several times: as base64, as JSON, and as it is sent. */
const SHARE_OF_HEAP = 32;
const MAX_TEXT_BYTES = 256 * 1024;
const ID_LENGTH = 36;

type Part = UIMessage['parts'][number];
/** A message of a conversation; `isRequest` for those that the run answers. */
type Message = UIMessage & { isRequest: boolean };
/** Whether a model takes files of a type. */
type Takes = (mediaType: string) => boolean;

/** A conversation with its files. */
interface FilledConversation<M> {
  readonly messages: M[];
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
    Math.max(MAX_REQUEST_BYTES, Math.min(MAX_HELD_BYTES, getHeapStatistics().heap_size_limit / SHARE_OF_HEAP)),
  );

  constructor(
    private readonly repository: FileRepository,
    private readonly store: FileStore,
  ) {}

  /** @throws DomainError `file_unsupported`, or the reason of the signal */
  async withFiles<M extends Message>(
    organizationId: string,
    messages: readonly M[],
    takes: Takes,
    signal: AbortSignal,
  ): Promise<FilledConversation<M>> {
    const ids = messages.flatMap(({ parts }) => parts.filter(isFile).map(idOf));
    if (ids.length === 0) return { messages: [...messages], release: () => undefined };
    const files = new Map((await this.repository.findAll(organizationId, ids)).map((file) => [file.id, file]));
    const chosen = chooseFiles(messages, files, takes);
    const units = [...chosen.keys()].reduce((sum, id) => sum + (files.get(id)?.size ?? 0), 0);
    const claim = { holder: [organizationId], units };
    await this.memory.take(claim, signal);
    try {
      const bytes = new Map<string, Buffer>();
      for (const [id, contentId] of chosen) bytes.set(id, await this.read(contentId, files.get(id)?.size ?? 0));
      const fill = (part: Part): Part => (isFile(part) ? contentOf(part, bytes.get(idOf(part)), files, takes) : part);
      return {
        messages: messages.map((message) => ({ ...message, parts: message.parts.map(fill) })),
        release: () => this.memory.giveBack(claim),
      };
    } catch (error) {
      this.memory.giveBack(claim);
      throw error;
    }
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
  messages: readonly Message[],
  files: ReadonlyMap<string, FileEntity>,
  takes: Takes,
): Map<string, string> {
  const chosen = new Map<string, string>();
  let room = MAX_REQUEST_BYTES;
  for (const { parts, isRequest } of messages.toReversed()) {
    for (const part of parts.filter(isFile)) {
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

/** What the model gets in the place of a file part. */
function contentOf(
  part: FileUIPart,
  bytes: Buffer | undefined,
  files: ReadonlyMap<string, FileEntity>,
  takes: Takes,
): Part {
  if (bytes === undefined)
    return { type: 'text', text: `[The file ${nameOf(part)} ${absenceOf(part, files, takes)}.]` };
  if (isText(part.mediaType)) return { type: 'text', text: `${nameOf(part)}:\n${bytes.toString('utf8')}` };
  return { ...part, url: `data:${part.mediaType};base64,${bytes.toString('base64')}` };
}

/** Why the model does not get a file. */
function absenceOf(part: FileUIPart, files: ReadonlyMap<string, FileEntity>, takes: Takes): string {
  const file = files.get(idOf(part));
  if (file?.contentId == null) return 'was deleted';
  return obstacleOfType(part.mediaType, file.size, takes) ?? 'is left out, because later files need the room';
}

/** Why a model cannot get any file of this type and size; undefined if it can. */
export function obstacleOfType(mediaType: string, size: number, takes: Takes): string | undefined {
  if (isText(mediaType)) return size > MAX_TEXT_BYTES ? 'is too long: texts can have 256 KiB' : undefined;
  return takes(mediaType) ? undefined : `is of a type that the model does not take: ${mediaType}`;
}

function isFile(part: Part): part is FileUIPart {
  return part.type === 'file';
}

function idOf({ url }: FileUIPart): string {
  return url.slice(-ID_LENGTH);
}

function nameOf({ filename, mediaType }: FileUIPart): string {
  return filename ?? `(${mediaType})`;
}
