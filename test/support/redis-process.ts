import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis, type RedisOptions } from 'ioredis';
import { freePort } from './free-port.js';
import { Program } from './program.js';

/** A Redis or Valkey process with a folder of its own, which can be killed and started again on the same port. */
export class RedisProcess {
  private program: Program | undefined;

  private constructor(
    private readonly command: string,
    private readonly args: readonly string[],
    readonly folder: string,
    readonly port: number,
    private readonly client: RedisOptions,
  ) {}

  /**
   * Starts the process with these settings (`name value` lines of its configuration as arguments) and waits until it
   * answers.
   * @param client options with which it can be asked
   */
  static async start(
    command: string,
    settings: readonly string[] = [],
    { port, client = {}, mode = [] }: { port?: number; client?: RedisOptions; mode?: readonly string[] } = {},
  ): Promise<RedisProcess> {
    const folder = await mkdtemp(join(tmpdir(), 'signalbox-redis-'));
    const own = port ?? (await freePort());
    const listen = client.tls === undefined ? ['--port', String(own)] : ['--port', '0', '--tls-port', String(own)];
    const args = [...mode, ...listen, '--bind', '127.0.0.1', '--dir', folder, '--save', '', ...settings];
    const server = new RedisProcess(command, args, folder, own, client);
    await server.restart();
    return server;
  }

  /** Starts the process again after `kill`. */
  async restart(): Promise<void> {
    const program = (this.program = new Program(this.command, this.args));
    const answers = this.ask(async (redis) => redis.ping());
    const ended = program.exit().then(() => Promise.reject(new Error(`Redis ended: ${program.output}`)));
    await Promise.race([answers, ended]);
    ended.catch(() => undefined);
  }

  /** Runs commands on a connection of its own. */
  async ask<T>(work: (redis: Redis) => Promise<T>): Promise<T> {
    const redis = new Redis({
      host: '127.0.0.1',
      port: this.port,
      retryStrategy: () => 50,
      maxRetriesPerRequest: null,
      ...this.client,
    });
    redis.on('error', () => undefined);
    try {
      return await work(redis);
    } finally {
      redis.disconnect();
    }
  }

  /** The id of the process. */
  get pid(): number {
    return this.program?.pid ?? -1;
  }

  async kill(signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL'): Promise<void> {
    await this.program?.kill(signal);
  }

  async stop(): Promise<void> {
    await this.kill();
    await rm(this.folder, { recursive: true, force: true });
  }
}
