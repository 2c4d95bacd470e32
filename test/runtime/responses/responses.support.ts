import { afterAll, beforeAll } from '@jest/globals';
import OpenAI from 'openai';
import type { Response, ResponseStreamEvent } from 'openai/resources/responses/responses';
import { createAgent, type Endpoint } from '../../support/agent-runs.js';
import { newTenant, type Tenant } from '../../support/tenant.js';
import { checkedFetch, expectPublishedShapes } from './checked-fetch.js';

/** What a spec file about responses has. */
interface ResponsesApp {
  readonly app: Tenant;
  readonly agentId: string;
  readonly openai: OpenAI;
}

/** Makes an organization with an agent of the built-in model for the spec file that calls this. */
export function useResponses(settings?: Record<string, string>): ResponsesApp {
  const own = {} as { -readonly [Key in keyof ResponsesApp]: ResponsesApp[Key] };
  beforeAll(async () => {
    own.app = await newTenant(settings);
    own.agentId = await createAgent(own.app);
    own.openai = openAiClient(own.app);
  });
  afterAll(() => own.app?.close());
  expectPublishedShapes();
  return own;
}

/**
 * OpenAI's client, as callers configure it: a base URL and a key. It repeats nothing, so that tests see every error,
 * and what it gets is checked.
 */
export function openAiClient({ url, org, apiKey }: Endpoint): OpenAI {
  return new OpenAI({ baseURL: `${url}/api/${org}/v1`, apiKey, maxRetries: 0, fetch: checkedFetch });
}

/** The run of a response. */
export const taskIdOf = ({ id }: Pick<Response, 'id'>): string => id.replace(/^resp_/, '');

/** Reads events to the end of their stream. */
export async function collect(stream: AsyncIterable<ResponseStreamEvent>): Promise<ResponseStreamEvent[]> {
  const events: ResponseStreamEvent[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

/** The text that the deltas of the events make, by item. */
export function textsOf(events: readonly ResponseStreamEvent[]): Map<string, string> {
  const texts = new Map<string, string>();
  for (const event of events) {
    if (event.type !== 'response.output_text.delta') continue;
    texts.set(event.item_id, (texts.get(event.item_id) ?? '') + event.delta);
  }
  return texts;
}

/** The texts of a response, by item. */
export function textsIn({ output }: Pick<Response, 'output'>): Map<string, string> {
  return new Map(
    output.flatMap((item) =>
      item.type === 'message'
        ? [[item.id, item.content.flatMap((part) => (part.type === 'output_text' ? [part.text] : [])).join('')]]
        : [],
    ),
  );
}

/** The response of the last event. */
export function finalOf(events: readonly ResponseStreamEvent[]): Response {
  const last = events.at(-1);
  if (last === undefined || !('response' in last)) throw new Error(`The last event is ${last?.type}.`);
  return last.response;
}
