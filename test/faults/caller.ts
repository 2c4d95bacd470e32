import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from './random.js';

const PATIENCE_MS = 240_000;
/** Also a busy machine answers or refuses within this time; the service's own limits are a few seconds. */
const ANSWER_WITHIN_MS = 60_000;

/** The installation as a client behind a load balancer sees it. */
export interface Target {
  /** The addresses of the `api` processes. */
  readonly urls: readonly string[];
  readonly org: string;
  readonly apiKey: string;
}

/** An answer other than 503, 429 or a broken connection. */
export interface Answer {
  readonly status: number;
  readonly body: unknown;
  /** How often the request was sent without an answer. */
  readonly broken: number;
}

/** A request that the service did not answer as it should; its message is the fault. */
export class FaultError extends Error {
  override readonly name = 'FaultError';
}

/** Sends requests to any of the `api` processes until one answers. */
export class Caller {
  readonly target: Target;
  private readonly random: Random;

  constructor(target: Target, random: Random) {
    this.target = target;
    this.random = random;
  }

  /** Any of the processes except this one. */
  other(than: string | undefined): string {
    const urls = this.target.urls.filter((url) => url !== than);
    return this.random.pick(urls.length > 0 ? urls : this.target.urls);
  }

  /** Calls a management tool. @throws FaultError unless it answers 200 */
  async tool<T>(name: string, input: object): Promise<T> {
    const { status, body } = await this.post(`tools/${name}`, input);
    if (status !== 200) throw new FaultError(`${name} answered ${status}: ${JSON.stringify(body)}`);
    return body as T;
  }

  /**
   * Repeats a request while the connection breaks or the service answers 503 or 429.
   * @throws FaultError if a process does not answer at all, or none answers in time
   */
  async post(path: string, input: object, headers: Record<string, string> = {}): Promise<Answer> {
    let broken = 0;
    let url = this.random.pick(this.target.urls);
    for (const deadline = Date.now() + PATIENCE_MS; Date.now() < deadline; url = this.other(url)) {
      try {
        const response = await fetch(`${url}/api/${this.target.org}/${path}`, {
          method: 'POST',
          headers: {
            authorization: `Bearer ${this.target.apiKey}`,
            'content-type': 'application/json',
            ...headers,
          },
          body: JSON.stringify(input),
          signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
        });
        const body: unknown = await response.json();
        if (response.status !== 503 && response.status !== 429) return { status: response.status, body, broken };
      } catch (error) {
        if ((error as Error).name === 'TimeoutError') throw new FaultError(`${path} was not answered by ${url}.`);
        broken++;
      }
      await sleep(100);
    }
    throw new FaultError(`${path} was answered by no process within ${PATIENCE_MS} ms.`);
  }
}
