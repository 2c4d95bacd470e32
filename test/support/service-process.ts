import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const ANNOUNCEMENT = /listens on (\S+)[^]*export API_KEY=(\S+)/;

/** What a service tells when it listens. */
export interface Announced {
  url: string;
  /** The key of a first start; undefined on later ones. */
  apiKey: string | undefined;
}

/** The built service as a process of its own. Its environment is only what the test names. */
export class ServiceProcess {
  /** Standard output and standard error so far. */
  output = '';
  readonly #child: ChildProcess;
  readonly #exited: Promise<[code: number | null, signal: NodeJS.Signals | null]>;

  /** @param main the entry of another build */
  constructor(env: Record<string, string>, main = MAIN) {
    this.#child = spawn(process.execPath, [main], {
      env: { PATH: process.env['PATH'], PORT: '0', METRICS_PORT: '0', LOG_LEVEL: 'info', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#exited = once(this.#child, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.on('data', (chunk: Buffer) => (this.output += chunk.toString()));
    }
  }

  /** Waits until an `api` or `all` process listens. @throws with what it printed, if it ends instead */
  async listening(): Promise<Announced> {
    const announcement = await this.printed(ANNOUNCEMENT);
    const [, url = '', key = ''] = announcement;
    return { url, apiKey: /^sbx_\w+$/.test(key) ? key : undefined };
  }

  /** Waits for the end; answers the exit code, or the name of the signal that killed it. */
  async exit(): Promise<number | NodeJS.Signals | null> {
    const [code, signal] = await this.#exited;
    return code ?? signal;
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** The id of the process. */
  get pid(): number {
    return this.#child.pid ?? -1;
  }

  /** Sends a signal that does not end the process. */
  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  kill(signal: NodeJS.Signals): Promise<number | NodeJS.Signals | null> {
    this.#child.kill(signal);
    return this.exit();
  }

  /** Waits until the process has printed this. @throws with what it printed, if it ends instead */
  printed(pattern: RegExp): Promise<RegExpExecArray> {
    return new Promise((resolve, reject) => {
      const look = (): void => {
        const match = pattern.exec(this.output);
        if (match !== null) resolve(match);
      };
      this.#child.stdout?.on('data', look);
      void this.#exited.then(() => reject(new Error(`The service ended: ${this.output}`)));
      look();
    });
  }
}
