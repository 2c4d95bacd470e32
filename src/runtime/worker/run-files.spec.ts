import { describe, expect, it } from '@jest/globals';
import { DomainError } from '../../core/domain-error.js';
import { StorageLostError } from '../../core/retry.js';
import type { AnswerFiles } from '../files/answer-files.js';
import type { ModelFiles } from '../files/model-files.js';
import type { ClaimedRun } from '../runs/records/new-run.js';
import { RunFiles } from './run-files.js';

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
