import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { AppConfig } from '../../core/config/app-config.js';
import { DomainError } from '../../core/domain-error.js';
import type { OrganizationCaps } from '../../platform/limits/organization-caps.js';
import type { FileRepository } from './file.repository.js';
import type { FileStore } from './file-store.js';
import { FileUploads } from './file-uploads.js';

const insert = jest.fn<(file: object, content: { id: string }) => Promise<{ contentId: string }>>();
const write = jest.fn<FileStore['write']>();
const deleted = jest.fn<FileStore['delete']>();

const uploads = new FileUploads(
  { beginContent: async () => undefined, insert, forgetContents: async () => undefined } as unknown as FileRepository,
  { write, delete: deleted } as unknown as FileStore,
  { limitOf: () => undefined } as unknown as OrganizationCaps,
  { settings: { filesMaxMb: 1 } } as AppConfig,
);

function upload(): Promise<unknown> {
  const bytes = (async function* () {
    yield Buffer.from('hello');
  })();
  const organization = { id: 'o', slug: 'o', limits: {} };
  const upload = { declaredType: 'text/plain', filename: null, bytes };
  return uploads.upload(upload, { organization, credentialId: 'c' } as never);
}

beforeEach(() => {
  jest.resetAllMocks();
  insert.mockImplementation(async (_file, { id }) => ({ contentId: id }));
});

describe('the bytes of an upload', () => {
  it('stay if a file refers to them', async () => {
    await upload();
    expect(deleted).not.toHaveBeenCalled();
  });

  it('are deleted if the organization has them already', async () => {
    insert.mockResolvedValue({ contentId: 'earlier' });
    await upload();
    expect(deleted).toHaveBeenCalledTimes(1);
  });

  it('are deleted if the file is refused, or if they break off', async () => {
    insert.mockRejectedValueOnce(new DomainError('limit_reached', 'Too many bytes.'));
    await expect(upload()).rejects.toMatchObject({ code: 'limit_reached' });
    write.mockRejectedValueOnce(new Error('The client has left.'));
    await expect(upload()).rejects.toThrow('The client has left.');
    expect(deleted).toHaveBeenCalledTimes(2);
  });

  it('stay if the commit of the file has no answer', async () => {
    insert.mockRejectedValueOnce(new Error('Connection terminated unexpectedly'));
    await expect(upload()).rejects.toThrow('Connection terminated');
    expect(deleted).not.toHaveBeenCalled();
  });
});
