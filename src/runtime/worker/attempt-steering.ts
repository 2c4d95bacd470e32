import type { UIMessage } from 'ai';
import { throughOutage } from '../../core/retry.js';
import type { ConversationMessage } from '../files/model-files.js';
import { claimOf, type ClaimedRun } from '../runs/records/new-run.js';
import type { RunSteering, SteerMessage } from '../runs/records/run-steering.js';
import { isSteerPart, toSteerPart } from '../threads/steer-part.js';
import type { RunAnswer } from './run-answer.js';
import { textOfMessage } from './usable-history.js';
import { isRecord } from '../../core/is-record.js';

/** Aborts the step in progress, because a message that interrupts waits for the run. */
class StepInterruptedError extends Error {
  override readonly name = 'StepInterruptedError';
}

/** What an attempt has heard of messages that wait for its run. The database is authoritative. */
export class SteeringSignal {
  private isSet = false;
  private interruption = new AbortController();
  private interruptedBy: string | undefined;
  /** The steers that the attempt has: a late notice of one changes nothing. */
  private readonly taken = new Set<string>();

  get isPending(): boolean {
    return this.isSet;
  }

  /** Aborted when the current step must end. */
  get step(): AbortSignal {
    return this.interruption.signal;
  }

  /** @param known how many messages had come when the attempt began: they interrupt none of its steps */
  constructor(private readonly known = 0) {}

  /** A message has come. */
  note(steerId: string, interrupts: boolean): void {
    if (this.taken.has(steerId)) return;
    this.isSet = true;
    if (interrupts) this.interrupt(steerId);
  }

  /**
   * Messages wait.
   * @param lastInterrupting the number of the last one that interrupts; null if none does
   */
  noteWaiting(lastInterrupting: number | null): void {
    this.isSet = true;
    if (lastInterrupting !== null && lastInterrupting > this.known) this.interrupt();
  }

  /** Called before the attempt looks for messages. */
  clear(): void {
    this.isSet = false;
    if (this.step.aborted) this.interruption = new AbortController();
  }

  markTaken(steerId: string): void {
    this.taken.add(steerId);
    // Its notice came between the look for messages and this.
    if (this.step.aborted && this.interruptedBy === steerId) this.clear();
  }

  private interrupt(steerId?: string): void {
    this.interruptedBy = steerId;
    this.interruption.abort(new StepInterruptedError('A message interrupts the step.'));
  }
}

/** The messages that a run takes while it is under way, during one attempt. */
export class AttemptSteering {
  private taken: readonly SteerMessage[] = [];

  private constructor(
    private readonly run: ClaimedRun,
    private readonly records: RunSteering,
    readonly signal: SteeringSignal,
  ) {}

  /** With what earlier attempts have taken, and what waits. */
  static async open(run: ClaimedRun, records: RunSteering, signal: SteeringSignal): Promise<AttemptSteering> {
    const steering = new AttemptSteering(run, records, signal);
    if (run.steers > run.steersTaken) signal.noteWaiting(null);
    if (run.steersTaken > 0) await steering.read();
    return steering;
  }

  /** The messages of users that the model gets. */
  get messages(): ConversationMessage[] {
    return this.taken
      .filter(({ role }) => role === 'user')
      .map(({ steerId, id, role, parts }) => ({ id, role, parts, metadata: { steerId }, isRequest: false }));
  }

  /** A step was ended for one of the messages. */
  get hasInterrupted(): boolean {
    return this.taken.some(({ interrupts }) => interrupts);
  }

  /** The instructions with the system messages that came with them. */
  instructionsWith(instructions: string): string {
    const system = this.taken.filter(({ role }) => role === 'system').map(({ parts }) => textOfMessage(parts));
    return [instructions, ...system].filter((text) => text !== '').join('\n\n');
  }

  /**
   * Takes the messages that wait, and shows each in the answer. To be called before a model call, and never after the
   * last one: what is taken must be answered.
   * @returns whether the answer ends with a message that no model call has followed
   * @throws StaleAttemptError, StaleWriterError
   */
  async hear(answer: RunAnswer): Promise<boolean> {
    if (this.signal.isPending || answer.steersWait) {
      this.signal.clear();
      await answer.saveWith((state) => this.records.take(claimOf(this.run), answer.model, state));
      await this.read();
    }
    await this.show(answer);
    const last = this.taken.length === 0 ? undefined : answer.parts().at(-1);
    return last !== undefined && isSteerPart(last);
  }

  private async read(): Promise<void> {
    this.taken = await throughOutage(() => this.records.findTaken(this.run.id));
    for (const { steerId } of this.taken) this.signal.markTaken(steerId);
  }

  /** Takes back the open step of the answer. What the run has heard in it stays. */
  async resetStep(answer: RunAnswer): Promise<void> {
    await answer.append({ type: 'reset-step' });
    await this.show(answer);
  }

  /** Shows in the answer what was taken, unless it does already. */
  private async show(answer: RunAnswer): Promise<void> {
    if (this.taken.length === 0) return;
    const shown = new Set(
      answer
        .parts()
        .filter(isSteerPart)
        .map(({ id }) => id),
    );
    for (const { steerId, interrupts, role, ...message } of this.taken) {
      if (role === 'user' && !shown.has(steerId)) await answer.append(toSteerPart(steerId, message, interrupts));
    }
  }
}

/** The message came up while a run was under way. */
function steerIdOf({ metadata }: UIMessage): string | undefined {
  const id = isRecord(metadata) ? metadata['steerId'] : undefined;
  return typeof id === 'string' ? id : undefined;
}

/**
 * The conversation with each message that steered a run where the answer heard it: the answer is split there. A message
 * that no answer has heard keeps its place.
 */
export function withSteersInPlace<M extends UIMessage>(messages: readonly M[]): M[] {
  const heard = new Set(messages.flatMap(({ parts }) => parts.filter(isSteerPart).map(({ id }) => id)));
  if (heard.size === 0) return [...messages];
  const isHeard = (message: M): boolean => heard.has(steerIdOf(message) ?? '');
  const steers = messages.filter(isHeard);
  return messages.filter((message) => !isHeard(message)).flatMap((message) => splitAnswer(message, steers));
}

function splitAnswer<M extends UIMessage>(answer: M, steers: readonly M[]): M[] {
  const pieces: M[] = [];
  let begin = 0;
  for (const [index, part] of answer.parts.entries()) {
    if (!isSteerPart(part)) continue;
    pieces.push({ ...answer, parts: answer.parts.slice(begin, index) });
    pieces.push(...steers.filter((message) => steerIdOf(message) === part.id));
    begin = index + 1;
  }
  pieces.push({ ...answer, parts: answer.parts.slice(begin) });
  return pieces.filter(({ parts }) => parts.length > 0);
}
