import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { generateEncryptionKey } from '../../src/config/encryption-keys.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { ServiceProcess } from '../support/service-process.js';

const BIN = fileURLToPath(new URL('../../bin/signalbox.mjs', import.meta.url));

export interface CommandResult {
  code: number | null;
  output: string;
  errors: string;
}

/** A service, and the command line in an empty folder next to it. */
export class CliFixture {
  private constructor(
    readonly url: string,
    readonly apiKey: string,
    readonly folder: string,
    private readonly service: ServiceProcess,
    private readonly database: TestDatabase,
  ) {}

  static async start(env: Record<string, string> = {}): Promise<CliFixture> {
    const database = await createTestDatabase();
    const service = new ServiceProcess({
      DATABASE_URL: database.url,
      ENCRYPTION_KEYS: generateEncryptionKey('test'),
      LOG_LEVEL: 'warn',
      ...env,
    });
    const { url, apiKey = '' } = await service.listening();
    return new CliFixture(url, apiKey, await mkdtemp(join(tmpdir(), 'signalbox-cli-')), service, database);
  }

  async close(): Promise<void> {
    await this.service.kill('SIGTERM');
    await this.database.drop();
    await rm(this.folder, { recursive: true, force: true });
  }

  /** Runs a command to its end. @param options.input is its standard input */
  async run(
    args: string[],
    { env = {}, input = '' }: { env?: Record<string, string>; input?: string } = {},
  ): Promise<CommandResult> {
    const child = spawn(process.execPath, [BIN, ...args], {
      cwd: this.folder,
      env: { PATH: process.env['PATH'], SIGNALBOX_URL: this.url, API_KEY: this.apiKey, ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    const result: CommandResult = { code: null, output: '', errors: '' };
    child.stdout.on('data', (text) => (result.output += String(text)));
    child.stderr.on('data', (text) => (result.errors += String(text)));
    child.stdin.on('error', () => undefined).end(input);
    [result.code] = (await once(child, 'close')) as [number | null];
    return result;
  }

  /** The output of a command that succeeds. */
  async output(...args: string[]): Promise<string> {
    const { code, output, errors } = await this.run(args);
    if (code !== 0) throw new Error(`signalbox ${args.join(' ')} ended with ${code}: ${output}${errors}`);
    return output;
  }
}
