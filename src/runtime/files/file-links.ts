import { createHmac } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { FileUIPart } from 'ai';
import { AppConfig } from '../../core/config/app-config.js';
import { equalSecrets } from '../../core/equal-secrets.js';
import { databaseNow } from '../../core/database-time.js';
import type { FileEntity } from './file.entity.js';

const VALID_S = 15 * 60;
/** The path of a file, relative, absolute or signed. */
const FILE_URL =
  /^(?<origin>https?:\/\/[^/?#]+)?\/api\/(?<org>[^/?#]+)\/files\/(?<id>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:\/content\?[^#]*)?$/i;

/** The addresses of files, and signatures that open one file without a credential for a while. */
@Injectable()
export class FileLinks {
  private readonly keys: readonly Buffer[];

  constructor(private readonly config: AppConfig) {
    this.keys = config.encryptionKeys.map(({ key }) => createHmac('sha256', key).update('file links').digest());
  }

  /** The path at this service. */
  pathOf(org: string, id: string): string {
    return `/api/${org}/files/${id}`;
  }

  /** The part of a message that names a file. */
  partOf({ id, mediaType, filename }: Pick<FileEntity, 'id' | 'mediaType' | 'filename'>, org: string): FileUIPart {
    return { type: 'file', mediaType, ...(filename !== null && { filename }), url: this.pathOf(org, id) };
  }

  /** The path with a signature that is valid for 15 minutes. */
  sign(org: string, id: string): string {
    const expires = Math.floor(databaseNow() / 1000) + VALID_S;
    const signature = this.signatureOf(this.keys[0] as Buffer, org, id, String(expires));
    return `${this.pathOf(org, id)}/content?expires=${expires}&signature=${signature}`;
  }

  /** The parts of a message, with signed addresses in those that name files. */
  signParts(org: string, parts: readonly object[]): object[] {
    return parts.map((part) => {
      const { type, url } = part as { type?: unknown; url?: unknown };
      const id = type === 'file' && typeof url === 'string' ? this.idIn(url, org) : undefined;
      return id === undefined ? part : { ...part, url: this.sign(org, id) };
    });
  }

  /** Whether the signature opens the file now. */
  isValid(org: string, id: string, { expires, signature }: { expires: string; signature: string }): boolean {
    if (!/^\d{1,12}$/.test(expires) || Number(expires) * 1000 < databaseNow()) return false;
    return this.keys.some((key) => equalSecrets(this.signatureOf(key, org, id, expires), signature));
  }

  /** The id of the file that an address names, if it is one of this organization at this service. */
  idIn(url: string, org: string): string | undefined {
    const { origin, org: named, id } = FILE_URL.exec(url)?.groups ?? {};
    if (id === undefined || named !== org) return undefined;
    return origin === undefined || origin === new URL(this.config.baseUrl).origin ? id.toLowerCase() : undefined;
  }

  private signatureOf(key: Buffer, org: string, id: string, expires: string): string {
    return createHmac('sha256', key).update(`${org} ${id} ${expires}`).digest('base64url');
  }
}
