import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import type { AnswerRooms, OwnRoom } from '../../core/answers/answer-room.js';
import { UpstreamError } from '../contract/upstream-error.js';
import type { StdioTarget } from '../contract/upstream-target.js';
import { LineSplitter, type OutputBudget } from './program-output.js';
import { ProgramLog } from './program-log.js';
import { ParseCost } from '../../core/json/parse-cost.js';

/** How much of a line's beginning and end is searched for its id. */
const SEARCHED_BYTES = 1024;
/** Valid JSON: other ids, such as `01`, cannot be read. */
const ID = '"id"\\s*:\\s*(-?(?:0|[1-9]\\d{0,15})|"[^"\\\\\\u0000-\\u001f]{1,256}")';
/** The members before `result`, as Python writes them, or after it, as the SDK for TypeScript does. */
const AT_BEGINNING = new RegExp(
  `^\\s*\\{\\s*(?:"jsonrpc"\\s*:\\s*"2\\.0"\\s*,\\s*)?${ID}\\s*,\\s*"(?:result|error|jsonrpc)"`,
);
const AT_END = new RegExp(`,\\s*${ID}\\s*(?:,\\s*"jsonrpc"\\s*:\\s*"2\\.0"\\s*)?\\}\\s*$`);

/** The longest line of standard output, in bytes: one message, as for HTTP answers. */
const MAX_LINE_BYTES = 32 * 1024 * 1024;
/**
 * How much of a line of standard error is read. It exceeds the longest secret, which could otherwise be truncated and
 * not be replaced.
 */
const MAX_ERROR_LINE_BYTES = 64 * 1024;
/** With which a message begins. */
const OPENING_BRACE = 0x7b;
/** The limit on input that the program has not read yet, in bytes. */
const MAX_UNREAD_BYTES = 32 * 1024 * 1024;
/** The time between SIGTERM and SIGKILL. */
const TERM_MS = 2_000;
/** A process that left the group can hold the pipes open; they are closed after this time. */
const PIPES_LINGER_MS = 1_000;

export interface ProcessListener {
  /** One line of standard output, without its end. */
  onLine(line: Buffer, log: ProgramLog): void;
  /** An answer that is too costly to be parsed. @param id of the request that it answers, as JSON text */
  onCostlyAnswer(id: string, line: Buffer): void;
  /** Called once, when it accepts no more messages. @param fault the reason, unless the stop was requested */
  onEnd(fault: UpstreamError | undefined): void;
}

/** Names the program of a target in messages: "The upstream at <label> …". */
export function labelOf({ command }: StdioTarget): string {
  return `stdio:${command}`;
}

/** A running program. It leads its own process group, so that all processes that it starts end with it. */
export class StdioProcess {
  /** Resolves when the leader and its group have ended. */
  readonly gone: Promise<void>;
  /** Resolves when the program has started; rejects if it cannot be started. */
  readonly started: Promise<void>;

  private readonly child: ChildProcessWithoutNullStreams;
  private readonly log: ProgramLog;
  private readonly label: string;
  private hasEnded = false;
  private hasAnswered = false;
  private exit = 'ended';
  private activeRequests = 0;
  private watchers = 0;
  private usedAt = performance.now();

  constructor(
    private readonly target: StdioTarget,
    environment: Readonly<Record<string, string>>,
    private readonly listener: ProcessListener,
    private readonly budget: OutputBudget,
    private readonly rooms: Pick<AnswerRooms, 'open'>,
  ) {
    this.label = labelOf(target);
    this.log = new ProgramLog(target);
    this.child = this.launch(environment);
    this.gone = this.observeEnd();
    this.started = this.observeStart();
    this.observeOutput();
  }

  /** The id of the process and of its group; undefined if it could not be started. */
  get pid(): number | undefined {
    return this.child.pid;
  }

  /** True if it has neither active requests nor listeners. */
  get isIdle(): boolean {
    return this.activeRequests === 0 && this.watchers === 0;
  }

  get isAwaited(): boolean {
    return this.activeRequests > 0;
  }

  /** True if it has ended, or its stop has been requested. */
  get isEnding(): boolean {
    return this.hasEnded;
  }

  /** The end of its standard error, see `ProgramLog`. */
  get lastWords(): string {
    return this.log.lastWords;
  }

  /** Milliseconds since the last message to it. */
  get unusedMs(): number {
    return performance.now() - this.usedAt;
  }

  /** Marks a request as active until `leave`. */
  enter(): void {
    this.activeRequests++;
  }

  leave(): void {
    this.activeRequests--;
    this.usedAt = performance.now();
  }

  /** Marks a listener to its unsolicited messages as active until `unwatch`. */
  watch(): void {
    this.watchers++;
  }

  unwatch(): void {
    this.watchers--;
    this.usedAt = performance.now();
  }

  /** Room for messages of the program that nobody has taken yet. Leave it. @param holder absent: the service */
  openRoom(holder = ''): OwnRoom {
    return this.rooms.open({ organization: { id: this.target.organizationId }, callerId: holder });
  }

  /** Sends one message. Returns false if the program accepts no more messages. @param line without line breaks */
  write(line: Buffer): boolean {
    if (this.hasEnded) return false;
    this.usedAt = performance.now();
    const { stdin } = this.child;
    stdin.write(Buffer.concat([line, Buffer.from('\n')]));
    if (stdin.writableLength > MAX_UNREAD_BYTES) this.fail('protocol', 'does not read its input');
    return true;
  }

  /** Stops the whole group: closes the input and sends SIGTERM, then SIGKILL. Resolves when it has ended. */
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

  /** Kills it because of a fault. @param predicate completes "The upstream at <label> …" */
  fail(kind: 'protocol' | 'unreachable', predicate: string): void {
    if (this.hasEnded) return;
    this.end({ kind, message: `The upstream at ${this.label} ${predicate}.` });
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
    // The failure may not be awaited.
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
      else if (!this.hasEnded && line.length > 0) this.receive(line);
    });
    stdout.on('data', (chunk: Buffer) => this.read(stdout, lines, chunk));
    stdout.once('close', () => this.budget.close(stdout, lines.heldBytes));
    const errors = new LineSplitter(MAX_ERROR_LINE_BYTES, (line) => this.log.errorLine(line.toString('utf8')));
    stderr.on('data', (chunk: Buffer) => this.read(stderr, errors, chunk));
    stderr.once('close', () => this.budget.close(stderr, errors.heldBytes));
    // Wait for the exit, which gives a better reason.
    stdin.on('error', () => setTimeout(() => this.fail('unreachable', 'closed its input'), PIPES_LINGER_MS).unref());
    stdout.on('error', () => undefined);
    stderr.on('error', () => undefined);
  }

  /** Reads the available output. */
  private read(pipe: Readable, lines: LineSplitter, chunk: Buffer): void {
    // Not by the clock: on a busy machine, this thread waits for a processor.
    const before = process.threadCpuUsage();
    const { heldBytes: heldBefore, lines: linesBefore } = lines;
    lines.push(chunk);
    const fits = this.budget.hold(lines.heldBytes - heldBefore);
    if (!fits && lines.heldBytes > heldBefore) this.fail('protocol', 'printed too much without ending the line');
    const { user, system } = process.threadCpuUsage(before);
    this.budget.spend((user + system) / 1_000, lines.lines - linesBefore, pipe);
  }

  private receive(line: Buffer): void {
    // Not a line that is no message: programs print those before they fail, too.
    this.hasAnswered ||= line[0] === OPENING_BRACE;
    if (!isCostly(line)) return this.listener.onLine(line, this.log);
    const id = answeredIdOf(line);
    if (id === undefined) this.fail('protocol', 'printed a message that is too costly to parse');
    else this.listener.onCostlyAnswer(id, line);
  }

  private observeEnd(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const { stdout, stderr } = this.child;
    this.child.once('exit', (code, signal) => {
      // End the processes that it leaves in its group.
      this.signal('SIGKILL');
      // Read its remaining output first.
      const timer = setTimeout(() => [stdout, stderr].forEach((pipe) => pipe.destroy()), PIPES_LINGER_MS);
      this.child.once('close', () => clearTimeout(timer));
      this.exit = code === null ? `was terminated by ${signal}` : `exited with code ${code}`;
    });
    this.child.once('close', () => {
      this.end({ kind: 'unreachable', message: `The upstream at ${this.label} ${this.exit}.` });
      resolve();
    });
    return promise;
  }

  /**
   * The error of a program that has never answered quotes the end of its standard error. Later, these lines can concern
   * the calls of others; the log has them.
   */
  private end(fault: Pick<UpstreamError, 'kind' | 'message'> | undefined): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    if (fault !== undefined) this.log.fault(fault.message);
    this.listener.onEnd(
      fault && new UpstreamError(fault.kind, this.hasAnswered ? fault.message : fault.message + this.log.lastWords),
    );
  }

  private signal(signal: 'SIGTERM' | 'SIGKILL'): void {
    if (this.pid !== undefined) signalGroup(this.pid, signal);
  }
}

function whyNotStarted({ code }: Pick<NodeJS.ErrnoException, 'code'>): string {
  if (code === 'ENOENT') return 'could not be started: the command was not found';
  if (code === 'EACCES') return 'could not be started: there is no permission to execute it or to enter its directory';
  if (code === 'E2BIG') return 'could not be started: its arguments and variables are too large';
  return `could not be started (${code ?? 'unknown'})`;
}

/** True if the line is too costly to parse. The same limit applies to answers over HTTP. */
export function isCostly(line: Buffer): boolean {
  const cost = new ParseCost();
  cost.add(line);
  return cost.isTooHigh;
}

/**
 * The id of the request that a costly line answers, as JSON text, found where common libraries write it. A program that
 * writes a wrong id there affects only its own callers.
 */
export function answeredIdOf(line: Buffer): string | undefined {
  const beginning = line.toString('utf8', 0, SEARCHED_BYTES);
  const end = line.toString('utf8', Math.max(0, line.length - SEARCHED_BYTES));
  return AT_BEGINNING.exec(beginning)?.[1] ?? AT_END.exec(end)?.[1];
}

/**
 * Sends a signal to every process of a group (POSIX `kill(2)` with a negative id). Ignores a group that has ended.
 * @param leader the id of the process that was started as its leader
 */
function signalGroup(leader: number, signal: 'SIGTERM' | 'SIGKILL'): void {
  try {
    process.kill(-leader, signal);
  } catch (error) {
    // ESRCH: the group has ended. EPERM: the same on macOS, while the leader is not reaped yet.
    const code = (error as NodeJS.ErrnoException).code;
    if (code !== 'ESRCH' && code !== 'EPERM') throw error;
  }
}
