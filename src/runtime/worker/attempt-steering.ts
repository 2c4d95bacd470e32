import { throughOutage } from '../../core/retry.js';
import type { ConversationMessage } from '../files/model-files.js';
import { claimOf, type ClaimedRun } from '../runs/records/new-run.js';
import type { RunSteering, SteerMessage } from '../runs/records/run-steering.js';
import { isSteerPart, toSteerPart } from '../threads/steer-part.js';
import type { RunAnswer } from './run-answer.js';
import type { SteeringSignal } from './steering-signal.js';
import { textOfMessage } from './usable-history.js';

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
