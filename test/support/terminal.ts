import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const SCRIPT = fileURLToPath(new URL('terminal.py', import.meta.url));
const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const CTRL_C = '\u0003';

/** A command in the root of the checkout that runs in a terminal (a pty), as its foreground group. It needs python3. */
export class Terminal {
  /** What was printed so far. */
  output = '';
  #group = '';
  readonly #host: ChildProcess;
  readonly #closed: Promise<unknown[]>;

  constructor(command: readonly string[], env: Readonly<Record<string, string>>) {
    this.#host = spawn('python3', [SCRIPT, ...command], {
      cwd: ROOT,
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...env },
      stdio: 'pipe',
    });
    this.#closed = once(this.#host, 'close');
    this.#host.stdout?.on('data', (text) => (this.output += String(text)));
    this.#host.stderr?.on('data', (text) => (this.#group += String(text)));
    // It may have ended.
    this.#host.stdin?.on('error', () => undefined);
  }

  /** Waits until this was printed. @throws if the command ends instead */
  printed(pattern: RegExp): Promise<RegExpExecArray> {
    return new Promise((resolve, reject) => {
      const look = (): void => {
        const match = pattern.exec(this.output);
        if (match !== null) resolve(match);
      };
      this.#host.stdout?.on('data', look);
      void this.#closed.then(() => reject(new Error(`The command ended: ${this.output}`)));
      look();
    });
  }

  pressCtrlC(): void {
    this.#host.stdin?.write(CTRL_C);
  }

  /** Closes the terminal: the kernel sends SIGHUP. */
  close(): void {
    this.#host.stdin?.end();
  }

  /** Sends a signal to every process of the foreground group. */
  signalGroup(signal: NodeJS.Signals): void {
    process.kill(-Number(this.#group), signal);
  }

  /** Waits for the end of the command. Answers its exit code, or 128 and the number of the signal that ended it. */
  async exit(): Promise<number> {
    const [code] = (await this.#closed) as [number];
    return code;
  }
}
