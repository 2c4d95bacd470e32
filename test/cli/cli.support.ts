import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { COMPILED } from '../support/service-process.js';
import { newTenant, type Tenant } from '../support/tenant.js';

/** What `bin/signalbox.mjs` runs, after it has looked whether the build is that of the sources. */
const MAIN = fileURLToPath(new URL('../../dist/packages/cli/src/main.js', import.meta.url));

export interface CommandResult {
  code: number | null;
  output: string;
  errors: string;
}

interface RunOptions {
  readonly env?: Record<string, string>;
  readonly input?: string;
  readonly stopReading?: boolean;
}

/** An organization of a service, and the command line in an empty folder. */
export class CliFixture {
  private constructor(
    private readonly service: Tenant,
    readonly folder: string,
  ) {}

  /** @param settings of the service */
  static async start(settings: Record<string, string> = {}): Promise<CliFixture> {
    return new CliFixture(await newTenant(settings), await mkdtemp(join(tmpdir(), 'signalbox-cli-')));
  }

  get url(): string {
    return this.service.url;
  }

  get org(): string {
    return this.service.org;
  }

  get apiKey(): string {
    return this.service.apiKey;
  }

  async close(): Promise<void> {
    await this.service.close();
    await rm(this.folder, { recursive: true, force: true });
  }

  /**
   * Runs a command to its end.
   * @param options.input is its standard input
   * @param options.stopReading closes the pipe of its standard output at once
   */
  async run(args: string[], { env = {}, input = '', stopReading = false }: RunOptions = {}): Promise<CommandResult> {
    const child = spawn(process.execPath, [MAIN, ...args], {
      cwd: this.folder,
      env: {
        PATH: process.env['PATH'],
        NODE_COMPILE_CACHE: COMPILED,
        SIGNALBOX_URL: this.url,
        SIGNALBOX_ORG: this.org,
        API_KEY: this.apiKey,
        ...env,
      },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    const result: CommandResult = { code: null, output: '', errors: '' };
    child.stdout.on('data', (text) => (result.output += String(text)));
    if (stopReading) child.stdout.destroy();
    child.stderr.on('data', (text) => (result.errors += String(text)));
    child.stdin.on('error', () => undefined).end(input);
    [result.code] = (await once(child, 'close')) as [number | null];
    return result;
  }

  /** Runs `signalbox apply` with a file. */
  async apply(manifest: string, args: string[], env: Record<string, string> = {}): Promise<CommandResult> {
    await writeFile(join(this.folder, 'signalbox.yaml'), manifest);
    return this.run(['apply', ...args], { env });
  }

  /** The output of a command that succeeds. */
  async output(...args: string[]): Promise<string> {
    const { code, output, errors } = await this.run(args);
    if (code !== 0) throw new Error(`signalbox ${args.join(' ')} ended with ${code}: ${output}${errors}`);
    return output;
  }
}
