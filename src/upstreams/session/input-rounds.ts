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

/** What a round adds to the params of a request: what its client declares, and what it has answered. */
export type RoundParams = Readonly<Record<string, unknown>>;

/**
 * Sends a request of the modern era, and repeats it with the client's answers until the result is complete (MCP
 * 2026-07-28, "Multi Round-Trip Requests"). The time limit starts again with each round, and does not run while the
 * client is asked: nothing is open at the upstream then.
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
    const result = await send(added);
    if (!isInputRequiredResult(result)) return result;
    if (round === MAX_ROUNDS) throw new UpstreamMisbehaviour(`asked for input more than ${MAX_ROUNDS} times`);
    deadline.lift();
    const inputResponses = await deadline.wait(() => answersTo(result, client));
    deadline.restart();
    const { requestState } = result;
    added = {
      ...declared,
      ...(Object.keys(inputResponses).length > 0 && { inputResponses }),
      ...(requestState !== undefined && { requestState }),
    };
  }
}

/** Asks for everything at once. */
async function answersTo({ inputRequests }: InputRequiredResult, client: AnsweringClient): Promise<object> {
  const asked = Object.entries(inputRequests ?? {});
  if (asked.length === 0) await sleep(PAUSE_MS);
  const answers = asked.map(async ([key, request]) => [key, await client.answerRequest(checked(request))] as const);
  return Object.fromEntries(await Promise.all(answers));
}

/** @throws UpstreamMisbehaviour */
function checked(request: unknown): UpstreamRequest {
  const { method, params } = isRecord(request) ? request : {};
  if (typeof method !== 'string' || (params !== undefined && !isRecord(params))) {
    throw new UpstreamMisbehaviour('asked for input in a form that MCP does not define');
  }
  return { method, params };
}
