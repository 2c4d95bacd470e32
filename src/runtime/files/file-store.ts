/** Bytes of a content: from `start` up to, but not including, `end`. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/**
 * Where the bytes of files lie, by the id of their content. A content is written once and never changed. Its row in
 * `file_contents` exists before its bytes, and is deleted after them.
 */
export abstract class FileStore {
  /**
   * Stores what the source yields. If the source or the store fails, bytes may be left behind until `delete`.
   * @param source buffers of any length
   */
  abstract write(contentId: string, source: AsyncIterable<Buffer>): Promise<void>;

  /** Yields the bytes of a range that lies within the content. @throws Error if bytes are missing */
  abstract read(contentId: string, range: ByteRange): AsyncIterable<Buffer>;

  /** Deletes the bytes of these contents. Those that have none are passed over, so that a call can be repeated. */
  abstract delete(contentIds: readonly string[]): Promise<void>;
}
