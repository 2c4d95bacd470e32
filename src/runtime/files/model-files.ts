import { Injectable } from '@nestjs/common';
import type { FileUIPart, UIMessage } from 'ai';
import { DomainError } from '../../core/domain-error.js';
import type { FileEntity } from './file.entity.js';
import { FileRepository } from './file.repository.js';
import { FileStore } from './file-store.js';
import { isText } from './media-type.js';

/** The bytes of files that one model request holds, the newest ones. */
const MAX_REQUEST_BYTES = 32 * 1024 * 1024;
const MAX_TEXT_BYTES = 256 * 1024;
const ID_LENGTH = 36;

/** A message of a conversation; `isRequest` for those that the run answers. */
type Message = UIMessage & { isRequest: boolean };
/** Whether a model takes files of a type. */
type Takes = (mediaType: string) => boolean;

/**
 * Puts files into a conversation as models get them: as content where the model takes the type, and texts as text. An
 * earlier file that the model cannot get is named by a sentence; one in the request itself fails the run before the
 * model is called.
 */
@Injectable()
export class ModelFiles {
  constructor(
    private readonly repository: FileRepository,
    private readonly store: FileStore,
  ) {}

  /** @throws DomainError `file_unsupported` */
  async withFiles<M extends Message>(organizationId: string, messages: readonly M[], takes: Takes): Promise<M[]> {
    const ids = messages.flatMap(({ parts }) => parts.flatMap((part) => (part.type === 'file' ? [idOf(part)] : [])));
    if (ids.length === 0) return [...messages];
    const files = new Map((await this.repository.findAll(organizationId, ids)).map((file) => [file.id, file]));
    let room = MAX_REQUEST_BYTES;
    const filled: M[] = [];
    // The newest files have the room.
    for (const message of messages.toReversed()) {
      const parts: UIMessage['parts'] = [];
      for (const part of message.parts) {
        if (part.type !== 'file') {
          parts.push(part);
          continue;
        }
        const file = files.get(idOf(part));
        const obstacle = obstacleOf(file, part, takes, room);
        if (obstacle === undefined) {
          const { contentId, size } = file as FileEntity;
          room -= size;
          parts.push(await this.asContent(part, contentId as string, size));
        } else if (message.isRequest && file?.contentId != null) {
          throw new DomainError('file_unsupported', `${nameOf(part)} ${obstacle}.`);
        } else parts.push({ type: 'text', text: `[The file ${nameOf(part)} ${obstacle}.]` });
      }
      filled.unshift({ ...message, parts });
    }
    return filled;
  }

  private async asContent(part: FileUIPart, contentId: string, size: number): Promise<UIMessage['parts'][number]> {
    const chunks: Buffer[] = [];
    for await (const chunk of this.store.read(contentId, { start: 0, end: size })) chunks.push(chunk);
    const bytes = Buffer.concat(chunks);
    if (isText(part.mediaType)) return { type: 'text', text: `${nameOf(part)}:\n${bytes.toString('utf8')}` };
    return { ...part, url: `data:${part.mediaType};base64,${bytes.toString('base64')}` };
  }
}

/** Why a model cannot get the file; undefined if it can. */
function obstacleOf(
  file: FileEntity | undefined,
  { mediaType }: FileUIPart,
  takes: Takes,
  room: number,
): string | undefined {
  if (file?.contentId == null) return 'was deleted';
  const isTooMuch = file.size > room && 'is left out, because later files need the room';
  return obstacleOfType(mediaType, file.size, takes) ?? (isTooMuch || undefined);
}

/** Why a model cannot get any file of this type and size; undefined if it can. */
export function obstacleOfType(mediaType: string, size: number, takes: Takes): string | undefined {
  if (isText(mediaType)) return size > MAX_TEXT_BYTES ? 'is too long: texts can have 256 KiB' : undefined;
  return takes(mediaType) ? undefined : `is of a type that the model does not take: ${mediaType}`;
}

function idOf({ url }: FileUIPart): string {
  return url.slice(-ID_LENGTH);
}

function nameOf({ filename, mediaType }: FileUIPart): string {
  return filename ?? `(${mediaType})`;
}
