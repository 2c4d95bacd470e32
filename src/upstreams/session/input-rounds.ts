import { setTimeout as sleep } from 'node:timers/promises';
import {
  CLIENT_CAPABILITIES_META_KEY,
  type InputRequiredResult,
  isInputRequiredResult,
} from '@modelcontextprotocol/client';
import { isRecord } from '../../core/is-record.js';
import type { CallDeadline } from '../contract/call-deadline.js';
import { UpstreamMisbehaviour } from '../contract/upstream-error.js';
import type { AnsweringClient, UpstreamRequest } from '../contract/upstream-request.js';

/** How often one call can ask for input. */
const MAX_ROUNDS = 32;
/** When a request is repeated for an upstream that asks for nothing but that. */
const PAUSE_MS = 250;
/** Of `requestState`, which is kept while the client is asked, in UTF-16 code units. */
const MAX_STATE_SIZE = 64 * 1024;

/** What a round adds to the params of a request: what its client declares, and what it has answered. */
export type RoundParams = Readonly<Record<string, unknown>>;

/** What a result asks for. */
interface Asked {
  readonly requests: Readonly<Record<string, UpstreamRequest>>;
  readonly requestState: string | undefined;
}

/**
 * Sends a request of the modern era, and repeats it with the client's answers until the result is complete (MCP
 * 2026-07-28, "Multi Round-Trip Requests"). The time limit does not run while the client is asked, and starts again
 * then: nothing is open at the upstream.
 * @param send resolves with the result of one round
 * @throws what the client's answers reject with, UpstreamMisbehaviour
 */
export async function completeInRounds<T extends object>(
  send: (added: RoundParams) => Promise<T | InputRequiredResult>,
  client: AnsweringClient,
  deadline: CallDeadline,
): Promise<T> {
  const declared = { _meta: { [CLIENT_CAPABILITIES_META_KEY]: client.capabilities } };
  let added: RoundParams = declared;
  for (let round = 0; ; round++) {
    const { complete, asked } = await takeRound(send(added));
    if (asked === undefined) return complete;
    if (round === MAX_ROUNDS) throw new UpstreamMisbehaviour(`asked for input more than ${MAX_ROUNDS} times`);
    deadline.lift();
    const inputResponses = await deadline.wait(() => answersTo(asked, client));
    deadline.restart();
    const { requestState } = asked;
    added = {
      ...declared,
      ...(Object.keys(inputResponses).length > 0 && { inputResponses }),
      ...(requestState !== undefined && { requestState }),
    };
  }
}

/** Keeps nothing of a result but what the next round needs, because clients take minutes to answer. */
async function takeRound<T extends object>(
  sending: Promise<T | InputRequiredResult>,
): Promise<{ complete: T; asked?: undefined } | { complete?: undefined; asked: Asked }> {
  const result = await sending;
  if (!isInputRequiredResult(result)) return { complete: result };
  const { inputRequests = {}, requestState } = result;
  if (requestState !== undefined && requestState.length > MAX_STATE_SIZE) {
    throw new UpstreamMisbehaviour(`sent a state of more than ${MAX_STATE_SIZE} characters`);
  }
  const requests = Object.entries(inputRequests).map(([key, request]) => [key, checked(request)] as const);
  return { asked: { requests: Object.fromEntries(requests), requestState } };
}

/** Asks for everything at once. */
async function answersTo({ requests }: Asked, client: AnsweringClient): Promise<object> {
  if (Object.keys(requests).length > 0) return client.answerRequests(requests);
  await sleep(PAUSE_MS);
  return {};
}

/** @throws UpstreamMisbehaviour */
function checked(request: unknown): UpstreamRequest {
  const { method, params } = isRecord(request) ? request : {};
  if (typeof method !== 'string' || (params !== undefined && !isRecord(params))) {
    throw new UpstreamMisbehaviour('asked for input in a form that MCP does not define');
  }
  return { method, params };
}
