import type { DynamicToolUIPart, ToolUIPart, UIMessage } from 'ai';
import type { ToolPart } from './tool-part.js';

/** A part of a message that is being folded. Tool calls are `ToolPart`s; other parts have the types of `ai`. */
export type MessagePart = ToolPart | Exclude<UIMessage['parts'][number], ToolUIPart | DynamicToolUIPart>;

/** The parts of one message in order, and where its current step begins. */
export class MessageParts {
  private stepStart: number;

  constructor(private readonly list: MessagePart[] = []) {
    this.stepStart = list.findLastIndex((part) => part.type === 'step-start') + 1;
  }

  push(part: MessagePart): void {
    this.list.push(part);
  }

  startStep(): void {
    this.stepStart = this.list.push({ type: 'step-start' });
  }

  /** Removes the parts that the current step has added. */
  resetStep(): void {
    this.list.length = this.stepStart;
  }

  get count(): number {
    return this.list.length;
  }

  all(): readonly MessagePart[] {
    return this.list;
  }

  currentStep(): readonly MessagePart[] {
    return this.list.slice(this.stepStart);
  }
}
