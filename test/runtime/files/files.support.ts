import { crc32, deflateSync } from 'node:zlib';
import type { Tenant } from '../../support/tenant.js';
import type { FileDetails, FileItem } from '../../../src/runtime/files/file.dto.js';

/** The smallest PNG: one pixel, followed by these bytes in a chunk that readers pass over. */
export function png(extra: Buffer = Buffer.alloc(0)): Buffer {
  const chunk = (type: string, data: Buffer): Buffer => {
    const content = Buffer.concat([Buffer.from(type), data]);
    const [length, checksum] = [Buffer.alloc(4), Buffer.alloc(4)];
    length.writeUInt32BE(data.length);
    checksum.writeUInt32BE(crc32(content));
    return Buffer.concat([length, content, checksum]);
  };
  const header = Buffer.from([0, 0, 0, 1, 0, 0, 0, 1, 8, 0, 0, 0, 0]);
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([
    signature,
    chunk('IHDR', header),
    ...(extra.length > 0 ? [chunk('prIV', extra)] : []),
    chunk('IDAT', deflateSync(Buffer.alloc(2))),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

export interface UploadOptions {
  type?: string;
  /** A `Content-Disposition` header. */
  disposition?: string;
  key?: string;
}

export function upload(
  { url, org, apiKey }: Tenant,
  body: Buffer | string | FormData | ReadableStream,
  { type, disposition, key = apiKey }: UploadOptions = {},
): Promise<Response> {
  return fetch(`${url}/api/${org}/files`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      ...(type !== undefined && { 'content-type': type }),
      ...(disposition !== undefined && { 'content-disposition': disposition }),
    },
    body,
    ...(body instanceof ReadableStream && { duplex: 'half' }),
  } as RequestInit);
}

/** Uploads a file that has to be taken. */
export async function uploaded(app: Tenant, body: Buffer, options: UploadOptions = {}): Promise<FileItem> {
  const answer = await upload(app, body, { type: 'image/png', ...options });
  if (answer.status !== 201) throw new Error(`The upload was answered with ${answer.status}: ${await answer.text()}`);
  return ((await answer.json()) as { item: FileItem }).item;
}

export function download(app: Tenant, path: string, headers: Record<string, string> = {}): Promise<Response> {
  const authorization = `Bearer ${app.apiKey}`;
  return fetch(new URL(path, app.url), { headers: { authorization, ...headers } });
}

/** Settings with which files that no message names are looked for every two seconds, and kept for twenty. */
export const SHORT_DAYS = { RETENTION_DAY_MS: '20000' };

/** Makes files older than a day, as those settings count. */
export async function age(app: Tenant, ...ids: string[]): Promise<void> {
  await app.query(`UPDATE files SET created_at = created_at - interval '1 minute' WHERE id = ANY ($1::uuid[])`, [ids]);
}

export async function detailsOf(app: Tenant, id: string): Promise<FileDetails> {
  return ((await app.tool('FILE_GET', { id })).body as { item: FileDetails }).item;
}
