import type { FastifyReply } from 'fastify';
import type { AnswerBudget, AnswerHolder, HeldAnswer } from './answer-budget.js';

/** Responses up to this size are not counted: the socket buffers most of one at once. */
const SMALL_BYTES = 64 * 1024;
/**
 * A reader that reads no byte for this long is disconnected, so that it does not hold its response's memory forever.
 */
const STALLED_MS = 30_000;
/** The same for a reader that is too slow: 4 MiB in this time are 14 kB/s. */
const SENT_WITHIN_MS = 300_000;

/**
 * Runs the work that produces a complete response. Its memory is released when the response has been sent, its caller
 * has disconnected, or sending takes too long; but never before the work has ended, because the work continues when the
 * caller disconnects.
 */
export async function holdUntilSent<T>(
  answer: HeldAnswer,
  { raw }: FastifyReply,
  work: (answer: HeldAnswer) => Promise<T>,
): Promise<T> {
  try {
    return await work(answer);
  } finally {
    if (raw.destroyed) answer.release();
    else releaseOnceClosed(answer, raw);
  }
}

/**
 * Counts a response that is already complete until it has been sent, its caller has disconnected, or sending takes too
 * long. Call it before `send`.
 * @param length in bytes, or of its text
 * @throws DomainError `answer_memory_exhausted`
 */
export function holdWhileSending(
  budget: AnswerBudget,
  holder: AnswerHolder,
  { raw }: FastifyReply,
  length: number,
): void {
  if (length <= SMALL_BYTES || raw.destroyed) return;
  const answer = budget.openAnswer(holder);
  answer.reserve(length);
  releaseOnceClosed(answer, raw);
}

function releaseOnceClosed(answer: HeldAnswer, raw: FastifyReply['raw']): void {
  // Node destroys a socket whose timeout has no listener, and counts every byte written to the network as activity.
  raw.setTimeout(STALLED_MS);
  const deadline = setTimeout(() => raw.destroy(), SENT_WITHIN_MS);
  raw.once('close', () => {
    clearTimeout(deadline);
    answer.release();
  });
}

/**
 * Disconnects the reader of a stream that takes nothing for 30 s. Nothing happens while there is nothing to take: the
 * source can be silent for longer.
 */
export function disconnectStalledReader(raw: FastifyReply['raw']): void {
  raw.setTimeout(STALLED_MS, () => {
    if ((raw.socket?.writableLength ?? 0) > 0) raw.destroy();
  });
}
