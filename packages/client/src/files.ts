import type { FileItem } from './api.js';
import type { CallOptions, Http, RawBody } from './http.js';

export interface UploadOptions extends CallOptions {
  /**
   * Such as `text/csv`; by default that of the `Blob`. Without a type, the service recognizes images, PDFs, sound and
   * the like by their first bytes, and takes every other text for `text/plain`.
   */
  readonly mediaType?: string;
  /** For people; by default that of the `File`. */
  readonly filename?: string;
}

export interface DownloadOptions extends CallOptions {
  /** A part of the file: the bytes from `start` up to, but not including, `end`, as `Blob.slice` counts them. */
  readonly range?: { readonly start: number; readonly end?: number };
}

/** The part of a message that names a file: the `FileUIPart` of the AI SDK. */
export interface FilePart {
  readonly type: 'file';
  readonly mediaType: string;
  readonly filename?: string;
  /** The path at the service. */
  readonly url: string;
}

/** Uploads and downloads of files. `FILE_GET`, `FILE_LIST` and `FILE_DELETE` are management tools. */
export class Files {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /**
   * Stores a file, for messages. The bytes are sent as they are read. An upload that is aborted, or whose stream fails,
   * leaves nothing. It is not repeated after a failure, and a stream not after 429 either.
   * @param bytes of a stream only in Node.js, Deno, Bun and browsers that send streams: Chromium, over HTTP/2
   * @throws SignalboxError `file_type_mismatch` if the bytes contradict the type, `body_too_large`, `limit_reached`
   */
  async upload(bytes: RawBody, { mediaType, filename = nameOf(bytes), signal }: UploadOptions = {}): Promise<FileItem> {
    const response = await this.#http.send({
      method: 'POST',
      path: 'files',
      headers: {
        ...(mediaType !== undefined && { 'content-type': mediaType }),
        ...(filename !== undefined && { 'content-disposition': dispositionOf(filename) }),
      },
      rawBody: bytes,
      signal,
      isRepeatable: false,
    });
    return ((await response.json()) as { item: FileItem }).item;
  }

  /**
   * Reads a file: `await response.blob()`, or `response.body` for a stream. Resolves when the bytes begin; the signal
   * ends them, too. A stream that breaks off throws: continue it with a `range`.
   * @throws SignalboxError `not_found`, `file_deleted`, `range_not_satisfiable` if the file ends before `start`
   * @throws RangeError for a range without bytes
   */
  async download(id: string, { range, signal }: DownloadOptions = {}): Promise<Response> {
    return this.#http.send({
      method: 'GET',
      path: `files/${encodeURIComponent(id)}`,
      headers: range === undefined ? {} : { range: rangeOf(range) },
      signal,
      isRepeatable: true,
    });
  }
}

/** The part of a message that names an uploaded file. */
export function filePart({ media_type: mediaType, filename, url }: FileItem): FilePart {
  return { type: 'file', mediaType, ...(filename !== null && { filename }), url };
}

function nameOf(bytes: RawBody): string | undefined {
  return bytes instanceof File ? bytes.name : undefined;
}

/** RFC 6266, with the name in the form of RFC 8187, which has room for every character. */
function dispositionOf(filename: string): string {
  const encoded = encodeURIComponent(filename.toWellFormed()).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16)}`,
  );
  return `attachment; filename*=UTF-8''${encoded}`;
}

/** The service ignores a range that it does not understand, and would send the whole file. */
function rangeOf({ start, end = Infinity }: { readonly start: number; readonly end?: number }): string {
  if (!Number.isSafeInteger(start) || start < 0 || !(end > start) || !(end === Infinity || Number.isSafeInteger(end))) {
    throw new RangeError(`There are no bytes from ${start} up to ${end}.`);
  }
  return `bytes=${start}-${end === Infinity ? '' : end - 1}`;
}
