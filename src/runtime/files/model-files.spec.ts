import { describe, expect, it } from '@jest/globals';
import { setImmediate as tick } from 'node:timers/promises';
import type { FileUIPart, UIMessage } from 'ai';
import { newId } from '../../core/ids.js';
import type { FileEntity } from './file.entity.js';
import type { FileRepository } from './file.repository.js';
import type { FileStore } from './file-store.js';
import { ModelFiles } from './model-files.js';

const MIB = 1024 * 1024;
const ELSEWHERE = 'is left out here: the conversation has it elsewhere, or later files need the room';
const SIGNAL = new AbortController().signal;

/** Files of these sizes, whose content is `abc`. */
class Fixture {
  readonly files: FileEntity[] = [];
  reads = 0;
  models = new ModelFiles(
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

async function* missing(): AsyncIterable<Buffer> {
  yield Buffer.from('a');
  throw new Error('The bytes of a file are missing.');
}

describe('ModelFiles', () => {
  it('puts files in as content, and texts as text', async () => {
    const fixture = new Fixture();
    const parts = [fixture.part(3), fixture.part(3, 'text/csv'), { type: 'text' as const, text: 'Look.' }];
    expect(await fixture.textsOf(parts)).toEqual([['data:image/png;base64,YWJj', '2.file:\nabc', 'Look.']]);
  });

  it('reads and gives a file once, where it is named last', async () => {
    const fixture = new Fixture();
    const part = fixture.part(20 * MIB);
    expect(await fixture.textsOf([part], [part, part])).toEqual([
      [`[The file 1.file ${ELSEWHERE}.]`],
      ['data:image/png;base64,YWJj', `[The file 1.file ${ELSEWHERE}.]`],
    ]);
    expect(fixture.reads).toBe(1);
  });

  it('leaves the oldest files out when they are too many', async () => {
    const fixture = new Fixture();
    const [first, second, third] = [fixture.part(20 * MIB), fixture.part(12 * MIB), fixture.part(20 * MIB)];
    expect(await fixture.textsOf([first], [second], [third])).toEqual([
      [`[The file 1.file ${ELSEWHERE}.]`],
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

  it('gives a file of an answer in the result of its tool, once, and by no other link', async () => {
    const fixture = new Fixture();
    const [image, text] = [fixture.part(3), fixture.part(3, 'text/csv')];
    const link = (uri: string): object => ({ type: 'resource_link', uri, name: 'x' });
    const other = link('/api/default/files/0198d2a0-0000-7000-8000-000000000000');
    const content = [link(image.url), link(image.url), link(text.url), other];
    const call = { type: 'dynamic-tool', toolName: 't', toolCallId: 'c', state: 'output-available', input: {} };
    const parts = [{ ...call, output: { content } }, image, text] as UIMessage['parts'];
    const answer = { id: 'a', role: 'assistant' as const, parts, isRequest: false };
    const { messages } = await fixture.models.withFiles('organization', [answer], () => true, SIGNAL);
    expect(messages[0]?.parts).toMatchObject([
      {
        output: {
          content: [
            { type: 'resource', resource: { mimeType: 'image/png', blob: 'YWJj' } },
            { type: 'text', text: `[The file 1.file ${ELSEWHERE}.]` },
            { type: 'text', text: 'abc' },
            other,
          ],
        },
      },
    ]);
  });

  it('takes a file that is deleted meanwhile for deleted', async () => {
    const fixture = new Fixture();
    const part = fixture.part(3);
    fixture.models = new ModelFiles(
      { findAll: async () => fixture.files, find: async () => ({ contentId: null }) } as unknown as FileRepository,
      { read: () => missing() } as unknown as FileStore,
    );
    expect(await fixture.textsOf([part])).toEqual([['[The file 1.file was deleted.]']]);
  });

  it('keeps memory for other organizations, however many runs of one wait', async () => {
    const fixture = new Fixture();
    const part = fixture.part(32 * MIB);
    for (let n = 0; n < 10; n++) void fixture.open('greedy', [part]);
    await expect(fixture.open('other', [part])).resolves.toBeDefined();
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
