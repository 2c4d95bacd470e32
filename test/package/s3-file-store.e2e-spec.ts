import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readSettings } from '../../src/core/config/settings.js';
import { S3FileStore } from '../../src/runtime/files/s3-file-store.js';
import { startTestService } from '../support/service.js';
import { eventually } from '../support/eventually.js';
import { freePort } from '../support/free-port.js';
import { Program } from '../support/program.js';
import { fileStoreContract } from '../runtime/files/file-store.contract.js';
import { download, png, uploaded } from '../runtime/files/files.support.js';
import { npm } from './npm.js';
import { useStarted } from '../support/use-started.js';

/** Its packages are too old for those of the repository. */
const SERVER = 's3rver@3.7.1';
const START_MS = 300_000;

/** A server with the API of Amazon S3, and one bucket. */
class S3Server {
  private constructor(
    private readonly folder: string,
    private readonly program: Program,
    readonly url: string,
  ) {}

  static async start(): Promise<S3Server> {
    const folder = await mkdtemp(join(tmpdir(), 'signalbox-s3-'));
    await npm(folder, ['install', '--no-save', '--no-audit', '--ignore-scripts', SERVER]);
    const port = await freePort();
    const main = join(folder, 'node_modules/s3rver/bin/s3rver.js');
    const options = [
      '-d',
      join(folder, 'data'),
      '-a',
      '127.0.0.1',
      '-p',
      String(port),
      '--configure-bucket',
      'signalbox',
    ];
    const program = new Program(process.execPath, ['--no-warnings', main, ...options]);
    await program.printed(/listening on/);
    return new S3Server(folder, program, `http://S3RVER:S3RVER@127.0.0.1:${port}/signalbox?region=us-east-1`);
  }

  stop(): Promise<unknown> {
    return this.program.kill('SIGKILL');
  }

  async close(): Promise<void> {
    await this.stop();
    await rm(this.folder, { recursive: true, force: true });
  }
}

describe('the store in S3', () => {
  let server: S3Server;
  beforeAll(async () => {
    server = await S3Server.start();
  }, START_MS);
  afterAll(() => server?.close());

  fileStoreContract(() => {
    const { filesS3 } = readSettings({ FILES_S3_URL: server.url });
    if (filesS3 === undefined) throw new Error('The address was not read.');
    return { store: new S3FileStore(filesS3), begin: async () => undefined };
  });

  describe('as a service uses it', () => {
    const app = useStarted(() => startTestService({ env: { FILES_S3_URL: server.url } }));

    it('has the bytes, which are in the database no more', async () => {
      const bytes = png(Buffer.alloc(6_000_000, 'x'));
      const { id, url } = await uploaded(app, bytes);
      const answer = await download(app, url);
      expect(Buffer.from(await answer.arrayBuffer()).equals(bytes)).toBe(true);
      expect(await app.query('SELECT FROM file_chunks')).toEqual([]);
      await app.tool('FILE_DELETE', { id }).expect(200);
      await eventually(async () => expect(await app.query('SELECT FROM file_contents')).toEqual([]));
    });

    it('answers 503 while the server is away', async () => {
      const { url } = await uploaded(app, png());
      await server.stop();
      expect((await download(app, url)).status).toBe(503);
      await expect(uploaded(app, png(Buffer.from('new')))).rejects.toThrow('storage_unavailable');
    });
  });
});
