import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

const STOP_WITHIN_MS = 15_000;

/** Node arguments that make SIGUSR2 trigger a garbage collection in the measured program. */
export const COLLECTABLE = ['--expose-gc', '--import', new URL('./collect-on-signal.mjs', import.meta.url).href];

/** A program that the benchmark starts. */
export class Child {
  #process;
  #exited;

  /**
   * @param {NodeJS.ProcessEnv} env added to the benchmark's environment; undefined removes a variable
   * @param {'inherit' | 'ignore' | number} stderr a number is the descriptor of a file
   */
  constructor(command, args, env = {}, stderr = 'inherit') {
    this.name = `${command} ${args.join(' ')}`;
    this.#process = spawn(command, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', stderr] });
    this.#exited = new Promise((resolve) => {
      this.#process.once('exit', resolve);
      this.#process.once('error', resolve);
    });
    this.lines = createInterface({ input: this.#process.stdout });
  }

  get pid() {
    return this.#process.pid;
  }

  /** Whether the program has ended, or could not be started. */
  get hasExited() {
    return this.pid === undefined || this.#process.exitCode !== null || this.#process.signalCode !== null;
  }

  /** Resolves with the first capture of the first output line that matches. Rejects if the program exits first. */
  async line(pattern) {
    const found = new Promise((resolve) => {
      const look = (line) => {
        const match = pattern.exec(line);
        if (match === null) return;
        this.lines.off('line', look);
        resolve(match[1]);
      };
      this.lines.on('line', look);
    });
    const ended = this.#exited.then(() => {
      throw new Error(`${this.name} exited before it printed ${pattern}.`);
    });
    return Promise.race([found, ended]);
  }

  /** Sends SIGTERM, and SIGKILL if the program does not exit in time. */
  async stop() {
    if (this.hasExited) return;
    this.#process.kill('SIGTERM');
    const timer = setTimeout(() => this.#process.kill('SIGKILL'), STOP_WITHIN_MS);
    await this.#exited;
    clearTimeout(timer);
  }
}
