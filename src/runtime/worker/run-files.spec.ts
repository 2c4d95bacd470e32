import { describe, expect, it } from '@jest/globals';
import { DomainError } from '../../core/domain-error.js';
import { StorageLostError } from '../../core/retry.js';
import type { AnswerFiles, MadeFile } from '../files/answer-files.js';
import type { ModelFiles } from '../files/model-files.js';
import type { ClaimedRun } from '../runs/records/new-run.js';
import { RunFiles, chunksOfMadeFile, withStoredFiles, type StoredFile } from './run-files.js';

const FILE = { base64: btoa('abc'), mediaType: 'image/png', filename: null };
const SIGNAL = new AbortController().signal;

/** Files of a run whose storage does this. */
function filesWith(store: () => Promise<never>): { files: RunFiles; calls: () => number } {
  let count = 0;
  const ofAnswer = {
    store: () => {
      count++;
      return store();
    },
  };
  const files = new RunFiles({} as ClaimedRun, {} as ModelFiles, ofAnswer as unknown as AnswerFiles);
  return { files, calls: () => count };
}

const failing = (cause: Error) => (): Promise<never> => Promise.reject(cause);

describe('a file of a result that cannot be stored', () => {
  it('is replaced by a sentence with the reason', async () => {
    const { files } = filesWith(failing(new DomainError('limit_reached', 'No room.')));
    expect(await files.store(FILE, SIGNAL)).toEqual({
      refusal: '[A file (image/png, 3 bytes) was left out. No room.]',
    });
  });

  it('is not waited for again while the storage is away', async () => {
    const { files, calls } = filesWith(failing(new StorageLostError('The storage is unavailable.')));
    const refusal = '[A file (image/png, 3 bytes) was left out. The storage is unavailable.]';
    for (let n = 0; n < 3; n++) expect(await files.store(FILE, SIGNAL)).toEqual({ refusal });
    expect(calls()).toBe(1);
  });

  it('is left out when the run is stopped', async () => {
    const { files, calls } = filesWith(failing(new Error('unreachable')));
    const refusal = '[A file (image/png, 3 bytes) was left out. The run was stopped.]';
    expect(await files.store(FILE, AbortSignal.abort())).toEqual({ refusal });
    expect(calls()).toBe(0);
  });

  it('fails the call for any other reason', async () => {
    const { files } = filesWith(failing(new TypeError('a defect')));
    await expect(files.store(FILE, SIGNAL)).rejects.toThrow('a defect');
  });
});

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
