import { Buffer } from 'node:buffer';
import type { Readable } from 'node:stream';
import { GATHERED_BYTES } from '../../../upstreams/messages/answer-body.js';
import { outcomeOf } from '../../../upstreams/invocation.js';
import { ParseCost } from '../../../json/parse-cost.js';
import type { UpstreamAnswer } from '../../../upstreams/messages/upstream-channel.js';
import { UpstreamError } from '../../../upstreams/contract/upstream-error.js';
import { judgeEnds } from './answer-judge.js';
import { AnsweredId, notTheAnswer } from './answered-id.js';
import { brokenAnswer } from './broken-answer.js';
import { completeAnswer } from './complete-answer.js';
import { type RelayedAnswer, type RelayPlan } from './relay-plan.js';
import { StreamingReplacement } from './replace-id.js';

const TAIL_BYTES = 4 * 1024;

/**
 * Relays an answer of one JSON body: as a whole when it is small or has to be filtered, else as it arrives.
 * @throws UpstreamError while nothing has been sent yet
 */
export async function relayJson({ status, body }: UpstreamAnswer, plan: RelayPlan): Promise<RelayedAnswer> {
  const { first, rest } = Buffer.isBuffer(body) ? { first: body } : await beginningOf(body, plan);
  const contentType = 'application/json';
  if (rest !== undefined) {
    if (isFiltered(plan)) {
      rest.destroy();
      throw new UpstreamError('protocol', 'The list is too large.');
    }
    const answered = new AnsweredId(plan.sentId ?? plan.callerId);
    if (!answered.push(first)) {
      rest.destroy();
      throw notTheAnswer();
    }
    return { status, contentType, body: streamJson(first, rest, plan, answered) };
  }
  const { body: complete, outcome, message } = completeAnswer(first, plan, status);
  await plan.settle(outcome, message);
  return { status, contentType, body: complete };
}

/** What comes after the gathered beginning is only looked at for the id. */
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
    for await (const chunk of rest as AsyncIterable<Buffer>) {
      if (!answered.push(chunk)) throw notTheAnswer();
      last = chunk.length >= TAIL_BYTES ? chunk : Buffer.concat([last.subarray(-TAIL_BYTES), chunk]);
      yield replacement?.push(chunk) ?? chunk;
    }
    if (!answered.found) throw notTheAnswer();
    await plan.settle(judgeEnds(first, last.subarray(-TAIL_BYTES)));
    if (replacement !== undefined) yield replacement.flush();
  } catch (error) {
    // The status has left already: the caller sees a body that breaks off.
    const cause = brokenAnswer(error, plan);
    await plan.settle(outcomeOf(cause));
    throw cause;
  } finally {
    rest.destroy();
    await plan.settle({ status: 'error', errorCode: 'upstream_cancelled' });
  }
}

/** As much as is waited for, and the rest if that is not all. */
async function beginningOf(body: Readable, plan: RelayPlan): Promise<{ first: Buffer; rest?: Readable }> {
  const chunks: Buffer[] = [];
  const cost = new ParseCost();
  let size = 0;
  const isWhole = isFiltered(plan);
  const hasEnded = await new Promise<boolean>((resolve, reject) => {
    const onData = (chunk: Buffer): void => {
      chunks.push(chunk);
      size += chunk.length;
      if (isWhole) cost.add(chunk);
      if (isWhole ? cost.isTooHigh : size > GATHERED_BYTES) finish(false);
    };
    const onEnd = (): void => finish(true);
    const finish = (ended: boolean): void => {
      body.pause();
      body.off('data', onData).off('end', onEnd).off('error', reject);
      resolve(ended);
    };
    body.on('data', onData).on('end', onEnd).on('error', reject);
  }).catch((error: unknown) => {
    throw brokenAnswer(error, plan);
  });
  return { first: Buffer.concat(chunks), ...(!hasEnded && { rest: body }) };
}

function isFiltered({ filter, isList }: RelayPlan): boolean {
  return filter !== undefined && isList;
}
