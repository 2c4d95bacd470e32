import { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import type { FileUIPart } from 'ai';
import { DomainError } from '../../core/domain-error.js';
import type { Principal } from '../../core/principal.js';
import type { FileEntity } from './file.entity.js';
import { FileLinks } from './file-links.js';
import { FileRepository } from './file.repository.js';
import { FileService } from './file.service.js';
import { FileUploads } from './file-uploads.js';
import { safeFilename } from './filename.js';
import { obstacleOfType } from './model-files.js';

/** All files of one message: a model gets them in one request. */
const MAX_MESSAGE_BYTES = 32 * 1024 * 1024;
const MAX_MESSAGE_FILES = 20;
/** RFC 2397, of which clients send the form with base64. */
const DATA_URL = /^data:(?<type>[^,;]*(?:;[^,;=]+=[^,;]*)*?);base64,(?<data>[A-Za-z0-9+/]*={0,2})$/;

/** A file part of a message as a client sends it, and where in the request it is. */
export interface SentFilePart {
  readonly mediaType: string;
  readonly filename?: string;
  readonly url: string;
  readonly path: string;
}

/** Turns the file parts of a message into those that are stored: each names a file of the organization. */
@Injectable()
export class MessageFiles {
  constructor(
    private readonly repository: FileRepository,
    private readonly uploads: FileUploads,
    private readonly links: FileLinks,
    private readonly files: FileService,
  ) {}

  /**
   * The parts that are stored, in the same order. The content of a `data:` URL becomes a file.
   * @param takes whether the model takes files of a media type
   * @throws DomainError `file_url_unsupported`, `file_not_found`, `file_unsupported`, `invalid_request` for too many
   * files
   *   or too large ones, and what `FileUploads.upload` throws
   */
  async store(
    parts: readonly SentFilePart[],
    takes: (mediaType: string) => boolean,
    caller: Principal,
  ): Promise<FileUIPart[]> {
    if (parts.length > MAX_MESSAGE_FILES) {
      throw new DomainError('invalid_request', `A message can have ${MAX_MESSAGE_FILES} files.`);
    }
    const known = await this.findNamed(parts, caller);
    const files: FileEntity[] = [];
    for (const part of parts) files.push(known.get(part) ?? (await this.storeContent(part, caller)));
    if (files.reduce((sum, { size }) => sum + size, 0) > MAX_MESSAGE_BYTES) {
      throw new DomainError(
        'invalid_request',
        `The files of a message can have ${MAX_MESSAGE_BYTES / 1024 / 1024} MiB together.`,
      );
    }
    for (const [index, { mediaType, size }] of files.entries()) {
      const obstacle = obstacleOfType(mediaType, size, takes);
      if (obstacle !== undefined)
        throw fault('file_unsupported', parts[index] as SentFilePart, `The file ${obstacle}.`);
    }
    return files.map((file, index) => {
      const filename = safeFilename(parts[index]?.filename) ?? file.filename;
      return this.links.partOf({ ...file, filename }, caller.organization.slug);
    });
  }

  private async findNamed(parts: readonly SentFilePart[], caller: Principal): Promise<Map<SentFilePart, FileEntity>> {
    const { organization } = caller;
    const ids = new Map<SentFilePart, string>();
    for (const part of parts) {
      if (part.url.startsWith('data:')) continue;
      const id = this.links.idIn(part.url, organization.slug);
      if (id === undefined) throw fault('file_url_unsupported', part, 'Upload the file, and send its url.');
      ids.set(part, id);
    }
    if (ids.size === 0) return new Map();
    const found = await this.repository.findAll(organization.id, [...new Set(ids.values())]);
    const isOpen = await Promise.all(found.map((file) => this.files.isOpenTo(caller, file)));
    const files = new Map(found.filter((_, index) => isOpen[index]).map((file) => [file.id, file]));
    return new Map(
      [...ids].map(([part, id]) => {
        const file = files.get(id);
        if (file?.contentId == null) throw fault('file_not_found', part, 'There is no such file, or it was deleted.');
        return [part, file];
      }),
    );
  }

  private async storeContent(part: SentFilePart, caller: Principal): Promise<FileEntity> {
    const { type, data } = DATA_URL.exec(part.url)?.groups ?? {};
    if (data === undefined || data.length % 4 === 1) {
      throw fault('file_url_unsupported', part, 'A data: URL must be `data:<media type>;base64,<data>`.');
    }
    const bytes = Buffer.from(data, 'base64');
    const declaredType = type === '' || type === undefined ? part.mediaType : type;
    const upload = { declaredType, filename: safeFilename(part.filename), bytes: Readable.from([bytes]) };
    return this.uploads.upload(upload, caller);
  }
}

type Fault = 'file_url_unsupported' | 'file_not_found' | 'file_unsupported';

function fault(code: Fault, { path }: SentFilePart, message: string): DomainError {
  return new DomainError(code, `${path}: ${message}`, [{ path, code, message }]);
}
