import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

const STOP_WITHIN_MS = 15_000;

/** Arguments for Node that let SIGUSR2 collect the garbage of a program that is measured. */
export const COLLECTABLE = ['--expose-gc', '--import', new URL('./collect-on-signal.mjs', import.meta.url).href];

/** A program that the benchmark runs beside itself. */
export class Child {
  #process;
  #exited;

  /** @param {NodeJS.ProcessEnv} env what the program gets beside the benchmark's own environment; undefined takes a variable away */
  constructor(command, args, env = {}) {
    this.name = `${command} ${args.join(' ')}`;
    this.#process = spawn(command, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'inherit'] });
    this.#exited = new Promise((resolve) => {
      this.#process.once('exit', resolve);
      this.#process.once('error', resolve);
    });
    this.lines = createInterface({ input: this.#process.stdout });
  }

  get pid() {
    return this.#process.pid;
  }

  /** The first capture of the first line of its output that fits. Rejects when the program ends before. */
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
      throw new Error(`${this.name} ended before it said ${pattern}.`);
    });
    return Promise.race([found, ended]);
  }

  /** Asks the program to end, and makes it end if it does not. */
  async stop() {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null || this.pid === undefined) return;
    this.#process.kill('SIGTERM');
    const timer = setTimeout(() => this.#process.kill('SIGKILL'), STOP_WITHIN_MS);
    await this.#exited;
    clearTimeout(timer);
  }
}
