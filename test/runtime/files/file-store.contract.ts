import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { newId } from '../../../src/core/ids.js';
import type { ByteRange, FileStore } from '../../../src/runtime/files/file-store.js';

const MIB = 1024 * 1024;

/** A store to test. */
export interface OpenedStore {
  store: FileStore;
  /** Records a content, whose row exists before its bytes. */
  begin(contentId: string): Promise<void>;
}

/** What every store of files does. */
export function fileStoreContract(opened: () => OpenedStore): void {
  async function stored(bytes: Buffer, pieces = 1): Promise<string> {
    const id = newId();
    await opened().begin(id);
    await opened().store.write(id, inPieces(bytes, pieces));
    return id;
  }

  async function read(id: string, range: ByteRange): Promise<Buffer> {
    const chunks: Buffer[] = [];
    for await (const chunk of opened().store.read(id, range)) chunks.push(chunk);
    return Buffer.concat(chunks);
  }

  const isEqual = (a: Buffer, b: Buffer): boolean => a.equals(b);

  describe('a content', () => {
    it.each([1, 255, 256 * 1024, 256 * 1024 + 1, 5 * MIB - 1, 5 * MIB, 5 * MIB + 1, 12 * MIB])(
      'of %i bytes is read as it was written',
      async (size) => {
        const bytes = randomBytes(size);
        const id = await stored(bytes, 7);
        expect(isEqual(await read(id, { start: 0, end: size }), bytes)).toBe(true);
      },
    );

    it('is read in ranges', async () => {
      const bytes = randomBytes(6 * MIB);
      const id = await stored(bytes);
      for (const [start, end] of [
        [0, 1],
        [bytes.length - 1, bytes.length],
        [256 * 1024 - 1, 256 * 1024 + 1],
        [5 * MIB - 10, 5 * MIB + 10],
        [100, 3 * MIB],
      ] as const) {
        expect([start, isEqual(await read(id, { start, end }), bytes.subarray(start, end))]).toEqual([start, true]);
      }
    });

    it('can be one of many that are written and read at once', async () => {
      const contents = await Promise.all(
        Array.from({ length: 20 }, async () => {
          const bytes = randomBytes(MIB);
          return { bytes, id: await stored(bytes, 3) };
        }),
      );
      const end = MIB;
      for (const { id, bytes } of contents) expect(isEqual(await read(id, { start: 0, end }), bytes)).toBe(true);
    });

    it('is gone when it was deleted, and can be deleted again', async () => {
      const { store } = opened();
      const [first, second, kept] = [await stored(randomBytes(10)), await stored(randomBytes(6 * MIB)), randomBytes(9)];
      const keptId = await stored(kept);
      await store.delete([first, second]);
      for (const id of [first, second]) await expect(read(id, { start: 0, end: 10 })).rejects.toThrow();
      await store.delete([first, second, newId()]);
      expect(isEqual(await read(keptId, { start: 0, end: 9 }), kept)).toBe(true);
    });

    it.each([0, 6 * MIB])('whose source fails after %i bytes is not there after a deletion', async (size) => {
      const { store, begin } = opened();
      const id = newId();
      await begin(id);
      await expect(store.write(id, failingAfter(randomBytes(size)))).rejects.toThrow('The client has left.');
      await store.delete([id]);
      await expect(read(id, { start: 0, end: 1 })).rejects.toThrow();
    });
  });
}

async function* inPieces(bytes: Buffer, pieces: number): AsyncIterable<Buffer> {
  const size = Math.ceil(bytes.length / pieces);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function* failingAfter(bytes: Buffer): AsyncIterable<Buffer> {
  yield bytes;
  throw new Error('The client has left.');
}
