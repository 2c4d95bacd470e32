import { Buffer } from 'node:buffer';
import type { Readable } from 'node:stream';
import { chunksOf, GATHERED_BYTES, wholeOf } from '../../../upstreams/messages/answer-body.js';
import { outcomeOf } from '../../../upstreams/invocation.js';
import type { UpstreamAnswer } from '../../../upstreams/messages/upstream-channel.js';
import { UpstreamError } from '../../../upstreams/contract/upstream-error.js';
import { AnsweredId, wrongAnswerError, StreamingReplacement } from './answered-id.js';
import { brokenAnswer, needsWhole, type RelayedAnswer, type RelayPlan } from './relay-plan.js';
import { completeAnswer, judgeEnds } from './complete-answer.js';

const TAIL_BYTES = 4 * 1024;
/** What the buffers on the way to a caller hold of an answer that is streamed. */
const STREAMED_BYTES = 4 * GATHERED_BYTES;

/**
 * Relays a JSON body: buffered if it is small or has to be filtered, otherwise streamed.
 * @throws UpstreamError before the first byte is sent
 */
export async function relayJson({ status, body }: UpstreamAnswer, plan: RelayPlan): Promise<RelayedAnswer> {
  const { first, rest } = Buffer.isBuffer(body) ? { first: body } : await beginningOf(body, plan);
  const contentType = 'application/json';
  if (rest !== undefined) {
    const answered = new AnsweredId(plan.sentId ?? plan.callerId);
    if (!answered.push(first)) {
      rest.destroy();
      throw wrongAnswerError();
    }
    try {
      await plan.rooms.enter(plan.request, plan.reply, STREAMED_BYTES);
    } catch (error) {
      rest.destroy();
      throw error;
    }
    return { status, contentType, body: streamJson(first, rest, plan, answered) };
  }
  const { outcome, message, ...complete } = completeAnswer(first, plan, status);
  await plan.settle(outcome, message);
  return { ...complete, contentType, isHeld: plan.rooms.has(plan.reply) };
}

/** Only the id is checked in what follows the buffered beginning. */
async function* streamJson(
  first: Buffer,
  rest: Readable,
  plan: RelayPlan,
  answered: AnsweredId,
): AsyncGenerator<Buffer> {
  const { sentId, callerId } = plan;
  const replacement =
    sentId === undefined ? undefined : new StreamingReplacement(Buffer.from(sentId), Buffer.from(callerId));
  let last = first;
  try {
    yield replacement?.push(first) ?? first;
    for await (const chunk of chunksOf(rest, plan)) {
      if (!answered.push(chunk)) throw wrongAnswerError();
      last = chunk.length >= TAIL_BYTES ? chunk : Buffer.concat([last.subarray(-TAIL_BYTES), chunk]);
      yield replacement?.push(chunk) ?? chunk;
    }
    if (!answered.found) throw wrongAnswerError();
    await plan.settle(judgeEnds(first, last.subarray(-TAIL_BYTES)));
    if (replacement !== undefined) yield replacement.flush();
  } catch (error) {
    // The status has already been sent: the caller sees a truncated body.
    const cause = brokenAnswer(error, plan);
    await plan.settle(outcomeOf(cause));
    throw cause;
  } finally {
    rest.destroy();
    await plan.settle({ status: 'error', errorCode: 'upstream_cancelled' });
  }
}

/** The buffered beginning of the body, and the rest if there is more. A body that must be parsed is buffered whole. */
async function beginningOf(body: Readable, plan: RelayPlan): Promise<{ first: Buffer; rest?: Readable }> {
  const broken = (error: unknown): never => {
    throw brokenAnswer(error, plan);
  };
  if (needsWhole(plan)) {
    const tooLarge = (): Error => new UpstreamError('protocol', 'The answer is too large.');
    return { first: await wholeOf(body, tooLarge, plan).catch(broken) };
  }
  const chunks: Buffer[] = [];
  let size = 0;
  const hasEnded = await new Promise<boolean>((resolve, reject) => {
    const onData = (chunk: Buffer): void => {
      chunks.push(chunk);
      size += chunk.length;
      if (size > GATHERED_BYTES) finish(false);
    };
    const onEnd = (): void => finish(true);
    const finish = (ended: boolean): void => {
      body.pause();
      body.off('data', onData).off('end', onEnd).off('error', reject);
      resolve(ended);
    };
    body.on('data', onData).on('end', onEnd).on('error', reject);
  }).catch(broken);
  return { first: Buffer.concat(chunks), ...(!hasEnded && { rest: body }) };
}
