import { type ChildProcess, spawn, type SpawnOptions } from 'node:child_process';
import { once } from 'node:events';

/** How a program ended: its exit code, or the signal that ended it. */
export type ProgramEnd = number | NodeJS.Signals | null;

/** A program that a test starts, as a process of its own. */
export class Program {
  /** Standard output and standard error so far. */
  output = '';
  readonly stdin: ChildProcess['stdin'];
  readonly #child: ChildProcess;
  readonly #ended: Promise<ProgramEnd>;

  constructor(command: string, args: readonly string[], options: SpawnOptions = {}) {
    this.#child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], ...options });
    this.stdin = this.#child.stdin;
    // The pipes close when the last process that writes to them has ended.
    this.#ended = once(this.#child, 'close').then(
      ([code, signal]: (ProgramEnd | undefined)[]) => code ?? signal ?? null,
    );
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.on('data', (chunk: Buffer) => (this.output += chunk.toString()));
    }
  }

  /** The id of the process. */
  get pid(): number {
    return this.#child.pid ?? -1;
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** Waits for the end. */
  exit(): Promise<ProgramEnd> {
    return this.#ended;
  }

  /** Sends a signal without waiting for the end. */
  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Sends a signal and waits for the end. */
  kill(signal: NodeJS.Signals): Promise<ProgramEnd> {
    this.#child.kill(signal);
    return this.#ended;
  }

  /** Waits until the program has printed this. @throws with what it printed, if it ends instead */
  printed(pattern: RegExp): Promise<RegExpExecArray> {
    return new Promise((resolve, reject) => {
      const look = (): void => {
        const match = pattern.exec(this.output);
        if (match !== null) resolve(match);
      };
      for (const stream of [this.#child.stdout, this.#child.stderr]) stream?.on('data', look);
      void this.#ended.then((end) => reject(new Error(`The program ended with ${end}: ${this.output}`)), reject);
      look();
    });
  }
}

/** Runs a program to its end, however it ends. */
export async function runProgram(
  command: string,
  args: readonly string[],
  options?: SpawnOptions,
): Promise<{ end: ProgramEnd; output: string }> {
  const program = new Program(command, args, options);
  return { end: await program.exit(), output: program.output };
}

/** Runs a program that has to succeed. @returns what it printed. @throws with that, if it does not exit with 0 */
export async function outputOf(command: string, args: readonly string[], options?: SpawnOptions): Promise<string> {
  const { end, output } = await runProgram(command, args, options);
  if (end !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${end}: ${output}`);
  return output;
}
