import { describe, expect, it } from '@jest/globals';
import { readSettings } from './settings.js';

const read = (url: string) => readSettings({ FILES_S3_URL: url }).filesS3;

describe('FILES_S3_URL', () => {
  it('has the server, the bucket, the region and the key', () => {
    expect(read('https://AKIA1:a%2Fb%2Bc@s3.example.com/files-1?region=eu-central-1')).toEqual({
      endpoint: 'https://s3.example.com/files-1',
      region: 'eu-central-1',
      accessKeyId: 'AKIA1',
      secretAccessKey: 'a/b+c',
    });
    expect(read('http://id:secret@127.0.0.1:9000/bucket/')).toMatchObject({
      endpoint: 'http://127.0.0.1:9000/bucket',
      region: 'auto',
    });
  });

  it.each([
    's3://id:secret@bucket',
    'https://s3.example.com/bucket',
    'https://id@s3.example.com/bucket',
    'https://id:secret@s3.example.com',
    'https://id:secret@s3.example.com/',
    'https://id:secret@s3.example.com/bucket/folder',
    'https://id:%E0%A4%A@s3.example.com/bucket',
  ])('refuses %s, and does not repeat it', (url) => {
    expect(() => read(url)).toThrow(/^FILES_S3_URL must be [^]*$/);
    expect(() => read(url)).not.toThrow(url);
  });
});
