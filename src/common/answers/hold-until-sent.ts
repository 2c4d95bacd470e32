import type { FastifyReply } from 'fastify';
import type { AnswerBudget, AnswerHolder, HeldAnswer } from './answer-budget.js';

/** Answers up to this size are not counted: the socket takes most of one at once. */
const SMALL_BYTES = 64 * 1024;
/** A reader that takes no byte for so long is disconnected, so that it does not hold its answer's memory for ever. */
const STALLED_MS = 30_000;
/** Nor does one that takes a byte now and then: 4 MiB in this time are 14 kB/s. */
const SENT_WITHIN_MS = 300_000;

/**
 * Does the work that makes a complete answer. The memory that it takes is given back when the answer has been sent, its caller
 * has left, or it takes too long to send; never before the work has ended, as that goes on when the caller leaves.
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
 * Counts an answer that is complete already until it has been sent, its caller has left, or it takes too long to send. Call it
 * before `send`.
 * @param body as text or bytes
 * @throws DomainError `answer_memory_exhausted`
 */
export function holdWhileSending(
  budget: AnswerBudget,
  holder: AnswerHolder,
  { raw }: FastifyReply,
  body: string | Buffer,
): void {
  if (body.length <= SMALL_BYTES || raw.destroyed) return;
  const answer = budget.open(holder);
  answer.reserve(body.length);
  releaseOnceClosed(answer, raw);
}

function releaseOnceClosed(answer: HeldAnswer, raw: FastifyReply['raw']): void {
  // Node disconnects a socket whose timeout nobody handles, and counts every byte that is taken as activity.
  raw.setTimeout(STALLED_MS);
  const deadline = setTimeout(() => raw.destroy(), SENT_WITHIN_MS);
  raw.once('close', () => {
    clearTimeout(deadline);
    answer.release();
  });
}
