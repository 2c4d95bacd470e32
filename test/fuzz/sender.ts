import { Pool, errors, type Dispatcher } from 'undici';
import type { Answer } from './answer-rules.js';
import type { Step } from './step.js';
import { RAW_JSON } from './values.js';
import type { World } from './world.js';

/** The longest that an answer may take, on a machine that is busy with it: a program has 60 s for `initialize`. */
export const BOUND_MS = 90_000;

const REFERENCE = /@@([a-z-]+):([\w-]+)@@/g;
const SESSION_PATH = '@@session-path:0@@';
const RAW = /"@@raw:(\d+)@@"/g;

/** A request with everything filled in. */
export interface SentRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** What became of a request: an answer, a fault of the connection, or nothing where the caller left on purpose. */
export type Outcome =
  { readonly answer: Answer; readonly ms: number } | { readonly broken: string } | 'left' | 'unsendable';

/** Fills in what the step refers to. */
export function fillIn(step: Step, world: World): SentRequest {
  const path = step.path
    .replace(SESSION_PATH, () => world.sessionPath())
    .replace(REFERENCE, (_, kind: string, which: string) => encodeURIComponent(world.resolve(kind, which)));
  const thread = /\/threads\/([^/?]+)/.exec(path)?.[1] ?? '';
  const resolve = (kind: string, which: string): string => {
    if (kind === 'session-here') return world.sessionAt(path) ?? 'none';
    return kind === 'agent-here' ? world.agentOf(thread) : world.resolve(kind, which);
  };
  const headers = Object.fromEntries(
    Object.entries(step.headers).map(([name, value]) => [
      name,
      value.replace(REFERENCE, (_, kind: string, which: string) => resolve(kind, which)),
    ]),
  );
  const body = step.body
    ?.replace(RAW, (_, index: string) => RAW_JSON[Number(index)] ?? 'null')
    .replace(REFERENCE, (_, kind: string, which: string) => JSON.stringify(resolve(kind, which)).slice(1, -1));
  return { path, headers, ...(body !== undefined && { body }) };
}

/** Sends requests to the service over connections that are kept. */
export class Sender {
  readonly #pool: Pool;

  constructor(url: string, connections: number) {
    this.#pool = new Pool(url, { connections, headersTimeout: BOUND_MS, bodyTimeout: BOUND_MS });
  }

  async send(step: Step, { path, headers, body }: SentRequest): Promise<Outcome> {
    const leave = new AbortController();
    const begun = performance.now();
    const timers = [setTimeout(() => leave.abort(new Error('too late')), BOUND_MS * 2)];
    if (step.leaveAfterMs !== undefined)
      timers.push(setTimeout(() => leave.abort(new Error('left')), step.leaveAfterMs));
    try {
      const response = await this.#pool.request({
        method: step.method as Dispatcher.HttpMethod,
        path,
        headers,
        body: body ?? null,
        signal: leave.signal,
      });
      const { text, isCut } = await read(response, step.holdMs);
      return {
        answer: { status: response.statusCode, headers: response.headers, text, isCut },
        ms: performance.now() - begun,
      };
    } catch (error) {
      if (error instanceof errors.InvalidArgumentError) return 'unsendable';
      if (leave.signal.aborted && step.leaveAfterMs !== undefined) return 'left';
      return { broken: `${(error as Error).name}: ${(error as Error).message}` };
    } finally {
      for (const timer of timers) clearTimeout(timer);
    }
  }

  close(): Promise<void> {
    return this.#pool.destroy();
  }
}

/** An event stream that may have no end is left after `holdMs`; everything else is read to its end. */
async function read(
  { body, headers }: Dispatcher.ResponseData,
  holdMs?: number,
): Promise<{ text: string; isCut: boolean }> {
  if (holdMs === undefined || !String(headers['content-type']).startsWith('text/event-stream')) {
    return { text: await body.text(), isCut: false };
  }
  let isCut = false;
  let text = '';
  const timer = setTimeout(() => {
    isCut = true;
    body.destroy();
  }, holdMs);
  try {
    for await (const chunk of body.setEncoding('utf8')) text += String(chunk);
  } catch (error) {
    if (!isCut) throw error;
  } finally {
    clearTimeout(timer);
  }
  return { text, isCut };
}
