import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { UpstreamError } from '../contract/upstream-error.js';
import type { StdioTarget } from '../contract/upstream-target.js';
import { LineSplitter } from './line-splitter.js';
import type { OutputBudget } from './output-budget.js';
import { ProgramLog } from './program-log.js';
import { ParseCost } from '../../json/parse-cost.js';

/** As much of a line's beginning or end as is searched for its id. */
const SEARCHED_BYTES = 1024;
const ID = '"id"\\s*:\\s*(-?\\d{1,16}|"[^"\\\\]{1,256}")';
/** The members before `result`, as Python writes them, or after it, as the SDK for TypeScript does. */
const AT_BEGINNING = new RegExp(
  `^\\s*\\{\\s*(?:"jsonrpc"\\s*:\\s*"2\\.0"\\s*,\\s*)?${ID}\\s*,\\s*"(?:result|error|jsonrpc)"`,
);
const AT_END = new RegExp(`,\\s*${ID}\\s*(?:,\\s*"jsonrpc"\\s*:\\s*"2\\.0"\\s*)?\\}\\s*$`);

/** Longest line of standard output, in bytes: one message, as for HTTP answers. */
const MAX_LINE_BYTES = 32 * 1024 * 1024;
/** As much of a line of standard error as is read; more than the longest secret, which could else be cut and slip through. */
const MAX_ERROR_LINE_BYTES = 64 * 1024;
/** Input that the program has not read yet, in bytes. */
const MAX_UNREAD_BYTES = 32 * 1024 * 1024;
/** Time to end in peace. */
const TERM_MS = 2_000;
/** A process that left the group may hold the pipes open; nobody waits for it longer than this. */
const PIPES_LINGER_MS = 1_000;

/** Whoever talks to the program. */
export interface ProcessListener {
  /** One line of standard output, without its end. */
  onLine(line: Buffer, log: ProgramLog): void;
  /** An answer that is too costly to be parsed. @param id of the request that it answers, as JSON text */
  onCostlyAnswer(id: string, line: Buffer): void;
  /** It takes no more messages; called once. @param fault why, if nobody asked for it */
  onEnd(fault: UpstreamError | undefined): void;
}

/** What the program of a target is called in messages: "The upstream at <label> …". */
export function labelOf({ command }: StdioTarget): string {
  return `stdio:${command}`;
}

/** A running program, the leader of a process group of its own, so that all it starts ends with it. */
export class StdioProcess {
  /** Resolves when the leader is gone, and with it its group. */
  readonly gone: Promise<void>;
  /** Settles as the start does. */
  readonly started: Promise<void>;

  private readonly child: ChildProcessWithoutNullStreams;
  private readonly log: ProgramLog;
  private readonly label: string;
  private hasEnded = false;
  private exit = 'ended';
  private underway = 0;
  private watchers = 0;
  private usedAt = performance.now();

  constructor(
    private readonly target: StdioTarget,
    environment: Readonly<Record<string, string>>,
    private readonly listener: ProcessListener,
    private readonly budget: OutputBudget,
  ) {
    this.label = labelOf(target);
    this.log = new ProgramLog(target);
    this.child = this.launch(environment);
    this.gone = this.observeEnd();
    this.started = this.observeStart();
    this.observeOutput();
  }

  /** The id of the process and of its group; undefined when it could not be started. */
  get pid(): number | undefined {
    return this.child.pid;
  }

  /** Is nobody waiting for anything from it? */
  get isIdle(): boolean {
    return this.underway === 0 && this.watchers === 0;
  }

  get isAwaited(): boolean {
    return this.underway > 0;
  }

  /** It has been told to end, or ended. */
  get isEnding(): boolean {
    return this.hasEnded;
  }

  /** Milliseconds without a message to it. */
  get unusedMs(): number {
    return performance.now() - this.usedAt;
  }

  /** A request is under way until `leave`. */
  enter(): void {
    this.underway++;
  }

  leave(): void {
    this.underway--;
    this.usedAt = performance.now();
  }

  /** Somebody listens to what it sends unasked, until `unwatch`. */
  watch(): void {
    this.watchers++;
  }

  unwatch(): void {
    this.watchers--;
    this.usedAt = performance.now();
  }

  /** Sends one message; false when the program takes none any longer. @param line without line breaks */
  write(line: Buffer): boolean {
    if (this.hasEnded) return false;
    this.usedAt = performance.now();
    const { stdin } = this.child;
    stdin.write(Buffer.concat([line, Buffer.from('\n')]));
    if (stdin.writableLength > MAX_UNREAD_BYTES) this.fail('protocol', 'does not read what it is sent');
    return true;
  }

  /** Ends it: input closed and SIGTERM, then SIGKILL, for the whole group. Resolves when it is gone. */
  stop(): Promise<void> {
    if (!this.hasEnded) {
      this.end(undefined);
      this.child.stdin.end();
      this.signal('SIGTERM');
      const timer = setTimeout(() => this.signal('SIGKILL'), TERM_MS);
      void this.gone.then(() => clearTimeout(timer));
    }
    return this.gone;
  }

  /** Kills it for something that it did. @param predicate completes "The upstream at <label> …" */
  fail(kind: 'protocol' | 'unreachable', predicate: string): void {
    if (this.hasEnded) return;
    this.end(new UpstreamError(kind, `The upstream at ${this.label} ${predicate}.`));
    this.signal('SIGKILL');
  }

  /** Kills the group at once. */
  kill(): void {
    this.signal('SIGKILL');
  }

  private launch(environment: Readonly<Record<string, string>>): ChildProcessWithoutNullStreams {
    const { command, args, cwd, env } = this.target;
    try {
      const child = spawn(command, args, { cwd, env: { ...environment, ...env }, detached: true, shell: false });
      // Without a free file descriptor there are no pipes.
      if (child.stdin !== null && child.stdin !== undefined) return child;
      child.once('error', () => undefined);
      throw this.faultOf({ code: 'EMFILE' });
    } catch (error) {
      throw error instanceof UpstreamError ? error : this.faultOf(error as NodeJS.ErrnoException);
    }
  }

  private faultOf(error: Pick<NodeJS.ErrnoException, 'code'>): UpstreamError {
    return new UpstreamError('unreachable', `The upstream at ${this.label} ${whyNotStarted(error)}.`);
  }

  private observeStart(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    // Nobody may be waiting when it fails.
    promise.catch(() => undefined);
    this.child.once('spawn', resolve);
    this.child.once('error', (error: NodeJS.ErrnoException) => {
      const fault = this.faultOf(error);
      this.end(fault);
      reject(fault);
    });
    return promise;
  }

  private observeOutput(): void {
    const { stdin, stdout, stderr } = this.child;
    const lines = new LineSplitter(MAX_LINE_BYTES, (line, isCut) => {
      if (isCut) this.fail('protocol', `printed a line of more than ${MAX_LINE_BYTES} bytes`);
      else if (!this.hasEnded && line.length > 0) this.take(line);
    });
    stdout.on('data', (chunk: Buffer) => this.read(stdout, lines, chunk));
    stdout.once('close', () => this.budget.hold(-lines.heldBytes));
    const errors = new LineSplitter(MAX_ERROR_LINE_BYTES, (line) => this.log.errorLine(line.toString('utf8')));
    stderr.on('data', (chunk: Buffer) => this.read(stderr, errors, chunk));
    stderr.once('close', () => this.budget.hold(-errors.heldBytes));
    // The exit tells more, if there is one.
    stdin.on('error', () => setTimeout(() => this.fail('unreachable', 'closed its input'), PIPES_LINGER_MS).unref());
    stdout.on('error', () => undefined);
    stderr.on('error', () => undefined);
  }

  /** Reads what there is, and pauses a pipe whose reading has taken too much of everybody's time. */
  private read(pipe: Readable, lines: LineSplitter, chunk: Buffer): void {
    const startedAt = performance.now();
    const { heldBytes: heldBefore, lines: linesBefore } = lines;
    lines.push(chunk);
    const fits = this.budget.hold(lines.heldBytes - heldBefore);
    if (!fits && lines.heldBytes > heldBefore) this.fail('protocol', 'printed too much without ending the line');
    const pauseMs = this.budget.spend(performance.now() - startedAt, lines.lines - linesBefore);
    if (pauseMs === 0) return;
    pipe.pause();
    setTimeout(() => pipe.resume(), pauseMs).unref();
  }

  private take(line: Buffer): void {
    if (!isCostly(line)) return this.listener.onLine(line, this.log);
    const id = answeredIdOf(line);
    if (id === undefined) this.fail('protocol', 'printed a message that is too costly to parse');
    else this.listener.onCostlyAnswer(id, line);
  }

  private observeEnd(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const { stdout, stderr } = this.child;
    this.child.once('exit', (code, signal) => {
      // What it leaves behind in its group has nobody to talk to.
      this.signal('SIGKILL');
      // What it printed before is read to its end first.
      const timer = setTimeout(() => [stdout, stderr].forEach((pipe) => pipe.destroy()), PIPES_LINGER_MS);
      this.child.once('close', () => clearTimeout(timer));
      this.exit = code === null ? `was ended by ${signal}` : `ended by itself with exit code ${code}`;
    });
    this.child.once('close', () => {
      this.end(new UpstreamError('unreachable', `The upstream at ${this.label} ${this.exit}.`));
      resolve();
    });
    return promise;
  }

  private end(fault: UpstreamError | undefined): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    if (fault !== undefined) this.log.fault(fault.message);
    this.listener.onEnd(fault);
  }

  private signal(signal: 'SIGTERM' | 'SIGKILL'): void {
    if (this.pid !== undefined) signalGroup(this.pid, signal);
  }
}

function whyNotStarted({ code }: Pick<NodeJS.ErrnoException, 'code'>): string {
  if (code === 'ENOENT') return 'could not be started: the command was not found';
  if (code === 'EACCES') return 'could not be started: it may not be executed, or its directory not be entered';
  if (code === 'E2BIG') return 'could not be started: its arguments and variables are too large';
  return `could not be started (${code ?? 'unknown'})`;
}

/** Does parsing the line hold up others, as for an answer over HTTP? */
export function isCostly(line: Buffer): boolean {
  const cost = new ParseCost();
  cost.add(line);
  return cost.isTooHigh;
}

/**
 * The id of the request that a line answers which must not be parsed, as JSON text, where the usual libraries write it. A program
 * that writes another one there can mislead only those who wait for it.
 */
export function answeredIdOf(line: Buffer): string | undefined {
  const beginning = line.toString('utf8', 0, SEARCHED_BYTES);
  const end = line.toString('utf8', Math.max(0, line.length - SEARCHED_BYTES));
  return AT_BEGINNING.exec(beginning)?.[1] ?? AT_END.exec(end)?.[1];
}

/**
 * Sends a signal to every process of a group (POSIX `kill(2)` with a negative id). A group that is gone is left alone.
 * @param leader the id of the process that was started as its leader
 */
function signalGroup(leader: number, signal: 'SIGTERM' | 'SIGKILL'): void {
  try {
    process.kill(-leader, signal);
  } catch (error) {
    // ESRCH: nobody is left. EPERM: on macOS the same, while the leader is not reaped yet.
    const code = (error as NodeJS.ErrnoException).code;
    if (code !== 'ESRCH' && code !== 'EPERM') throw error;
  }
}
