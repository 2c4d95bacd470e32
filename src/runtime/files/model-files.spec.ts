import { describe, expect, it } from '@jest/globals';
import { setImmediate as tick } from 'node:timers/promises';
import type { FileUIPart, UIMessage } from 'ai';
import { newId } from '../../core/ids.js';
import type { FileEntity } from './file.entity.js';
import type { FileRepository } from './file.repository.js';
import type { FileStore } from './file-store.js';
import { ModelFiles } from './model-files.js';

const MIB = 1024 * 1024;
const SIGNAL = new AbortController().signal;

/** Files of these sizes, whose content is `abc`. */
class Fixture {
  readonly files: FileEntity[] = [];
  reads = 0;
  readonly models = new ModelFiles(
    { findAll: async () => this.files } as unknown as FileRepository,
    { read: () => this.bytes() } as unknown as FileStore,
  );

  part(size: number, mediaType = 'image/png', contentId: string | null = newId()): FileUIPart {
    const id = newId();
    this.files.push({ id, contentId, size, mediaType } as FileEntity);
    return { type: 'file', mediaType, filename: `${this.files.length}.file`, url: `/api/default/files/${id}` };
  }

  async textsOf(...conversation: UIMessage['parts'][]): Promise<unknown[]> {
    const { messages } = await this.open('organization', ...conversation);
    return messages.map(({ parts }) => parts.map((part) => ('text' in part ? part.text : (part as FileUIPart).url)));
  }

  open(organizationId: string, ...conversation: UIMessage['parts'][]) {
    const messages = conversation.map((parts, index) => ({
      id: String(index),
      role: 'user' as const,
      parts,
      isRequest: index === conversation.length - 1,
    }));
    return this.models.withFiles(organizationId, messages, (type) => type.startsWith('image/'), SIGNAL);
  }

  private async *bytes(): AsyncIterable<Buffer> {
    this.reads++;
    yield Buffer.from('abc');
  }
}

describe('ModelFiles', () => {
  it('puts files in as content, and texts as text', async () => {
    const fixture = new Fixture();
    const parts = [fixture.part(3), fixture.part(3, 'text/csv'), { type: 'text' as const, text: 'Look.' }];
    expect(await fixture.textsOf(parts)).toEqual([['data:image/png;base64,YWJj', '2.file:\nabc', 'Look.']]);
  });

  it('reads a file once, however often it is named', async () => {
    const fixture = new Fixture();
    const part = fixture.part(20 * MIB);
    expect(await fixture.textsOf([part], [part, part])).toEqual([
      ['data:image/png;base64,YWJj'],
      ['data:image/png;base64,YWJj', 'data:image/png;base64,YWJj'],
    ]);
    expect(fixture.reads).toBe(1);
  });

  it('leaves the oldest files out when they are too many', async () => {
    const fixture = new Fixture();
    const [first, second, third] = [fixture.part(20 * MIB), fixture.part(12 * MIB), fixture.part(20 * MIB)];
    expect(await fixture.textsOf([first], [second], [third])).toEqual([
      ['[The file 1.file is left out, because later files need the room.]'],
      ['data:image/png;base64,YWJj'],
      ['data:image/png;base64,YWJj'],
    ]);
  });

  it('says what became of earlier files, and fails for one of the request', async () => {
    const fixture = new Fixture();
    const [deleted, unknown] = [fixture.part(3, 'image/png', null), fixture.part(3, 'application/zip')];
    const [long, text] = [fixture.part(MIB, 'text/plain'), { type: 'text' as const, text: 'Go on.' }];
    expect(await fixture.textsOf([deleted, unknown, long], [text])).toEqual([
      [
        '[The file 1.file was deleted.]',
        '[The file 2.file is of a type that the model does not take: application/zip.]',
        '[The file 3.file is too long: texts can have 256 KiB.]',
      ],
      ['Go on.'],
    ]);
    await expect(fixture.textsOf([unknown])).rejects.toMatchObject({ code: 'file_unsupported' });
    expect(await fixture.textsOf([deleted])).toEqual([['[The file 1.file was deleted.]']]);
  });

  it('lets runs wait for memory, and go on when others give it back', async () => {
    const fixture = new Fixture();
    const part = fixture.part(30 * MIB);
    const opened: { release(): void }[] = [];
    const all = Array.from({ length: 10 }, (_, n) =>
      fixture.open(`organization ${n % 2}`, [part]).then((conversation) => opened.push(conversation)),
    );
    for (let n = 0; n < 20; n++) await tick();
    expect(opened.length).toBeGreaterThan(0);
    expect(opened.length).toBeLessThan(5);
    for (let released = 0; released < all.length; released++) {
      while (opened.length <= released) await tick();
      opened[released]?.release();
    }
    await Promise.all(all);
  });
});
