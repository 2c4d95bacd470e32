import { describe, expect, it } from '@jest/globals';
import type { MadeFile } from '../files/answer-files.js';
import { chunksOfMadeFile, withStoredFiles, type RunFiles, type StoredFile } from './run-files.js';

const URL_OF_FILE = '/api/default/files/0198d2a0-0000-7000-8000-000000000000';

/** Keeps what is stored. */
function filesThat(outcome: (file: MadeFile) => StoredFile): { files: RunFiles; made: MadeFile[] } {
  const made: MadeFile[] = [];
  const store = async (file: MadeFile): Promise<StoredFile> => {
    made.push(file);
    return outcome(file);
  };
  return { files: { store } as unknown as RunFiles, made };
}

const SIGNAL = new AbortController().signal;

const stored = ({ mediaType, base64 }: MadeFile): StoredFile => ({
  part: { type: 'file', mediaType, filename: 'a.png', url: URL_OF_FILE },
  size: base64.length,
});

describe('chunksOfMadeFile', () => {
  it.each(['file', 'reasoning-file'] as const)('names the stored %s of a model', async (type) => {
    const { files, made } = filesThat(stored);
    const chunk = { type, mediaType: 'image/png', url: `data:image/png;base64,${btoa('abc')}` };
    expect(await chunksOfMadeFile(chunk, files, SIGNAL)).toEqual([{ type, mediaType: 'image/png', url: URL_OF_FILE }]);
    expect(made).toEqual([{ base64: btoa('abc'), mediaType: 'image/png', filename: null }]);
  });

  it('says why one was not stored', async () => {
    const { files } = filesThat(() => ({ refusal: '[Left out.]' }));
    const chunks = await chunksOfMadeFile(
      { type: 'file', mediaType: 'image/png', url: 'data:;base64,AAAA' },
      files,
      SIGNAL,
    );
    expect(chunks.map(({ type }) => type)).toEqual(['text-start', 'text-delta', 'text-end']);
    expect(chunks[1]).toMatchObject({ delta: '[Left out.]' });
  });

  it('makes any other address a source, even that of a file here', async () => {
    const { files, made } = filesThat(stored);
    const chunk = { type: 'file', mediaType: 'image/png', url: `https://example.com${URL_OF_FILE}` } as const;
    expect(await chunksOfMadeFile(chunk, files, SIGNAL)).toMatchObject([{ type: 'source-url', url: chunk.url }]);
    expect(made).toEqual([]);
  });
});

describe('withStoredFiles', () => {
  it('takes names from addresses, without folders', async () => {
    const { files, made } = filesThat(stored);
    const blob = (uri?: unknown): object => ({ type: 'resource', resource: { uri, blob: btoa('a'), mimeType: 'a/b' } });
    const content = [blob('file:///a/b.png?c#d'), blob('..'), blob(1), { type: 'resource' }, { type: 'resource_link' }];
    const { chunks, result } = await withStoredFiles({ content } as never, files, SIGNAL);
    expect(made.map(({ filename }) => filename)).toEqual(['b.png', null, null]);
    expect(chunks).toHaveLength(3);
    expect(result.content.slice(3)).toEqual(content.slice(3));
  });

  it('leaves a result without files as it is', async () => {
    const result = { content: [{ type: 'text' as const, text: 'a' }] };
    expect((await withStoredFiles(result, filesThat(stored).files, SIGNAL)).result).toBe(result);
  });
});
