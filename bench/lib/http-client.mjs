import { Agent, Client } from 'undici';

// The load generator shares the processors with what it measures, so it uses undici's handlers instead of streams:
// `node:http` takes as long for a run as the service.
const agent = new Agent({ connections: 64, bodyTimeout: 0 });

/** Posts JSON on a keep-alive connection. Resolves with the parsed answer; rejects unless its status is 2xx. */
export async function postJson(url, headers, body) {
  const answer = [];
  const { started, ended } = send(agent, url, postOf(headers, body), (data) => answer.push(data));
  const { status } = await started;
  await ended;
  const text = Buffer.concat(answer).toString();
  if (status < 200 || status >= 300) throw new Error(`POST ${url} answered ${status}: ${text}`);
  return JSON.parse(text);
}

/** A reader of an event stream. Records when each event arrives (`performance.now`, in milliseconds). */
export class EventReader {
  #rest = '';
  #arrived = [];
  #hasEnded = false;
  #wake;
  #controller;

  /**
   * Resolves when the headers have arrived, which means that the stream is open.
   * @param body is posted, on a keep-alive connection; without it, the request is a GET on a connection of its own
   */
  static async open(url, headers, body) {
    const reader = new EventReader();
    const accept = { ...headers, accept: 'text/event-stream' };
    const own = body === undefined ? new Client(new URL(url).origin, { bodyTimeout: 0 }) : undefined;
    const options = own === undefined ? postOf(accept, body) : { method: 'GET', headers: accept };
    const { started, ended } = send(own ?? agent, url, options, (data) => reader.#take(data));
    // Readers disconnect on purpose; an interrupted stream shows as a missing event.
    ended
      .catch(() => undefined)
      .finally(() => {
        reader.#hasEnded = true;
        reader.#wake?.();
        void own?.close();
      });
    const { status, controller } = await started;
    if (status !== 200) throw new Error(`${options.method} ${url} answered ${status}`);
    reader.#controller = controller;
    return reader;
  }

  /** Resolves with the data and arrival time of the next event. @throws if the stream ends instead */
  async next() {
    if (this.#arrived.length > 0) return this.#arrived.shift();
    if (this.#hasEnded) throw new Error('A stream ended too early.');
    await new Promise((resolve) => {
      this.#wake = resolve;
    });
    this.#wake = undefined;
    return this.next();
  }

  close() {
    this.#controller.abort(new Error('The reader disconnects.'));
  }

  #take(data) {
    const at = performance.now();
    const lines = (this.#rest + data.toString()).split('\n');
    this.#rest = lines.pop();
    for (const line of lines) if (line.startsWith('data: ')) this.#arrived.push({ data: line.slice(6), at });
    if (this.#arrived.length > 0) this.#wake?.();
  }
}

function postOf(headers, body) {
  return { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify(body) };
}

/**
 * Sends a request.
 * @returns `started` resolves with the status and undici's controller when the headers have arrived, `ended` with the
 *   end of the body
 */
function send(dispatcher, url, options, onData) {
  const { origin, pathname, search } = new URL(url);
  const started = Promise.withResolvers();
  const ended = Promise.withResolvers();
  dispatcher.dispatch(
    { origin, path: pathname + search, ...options },
    {
      onRequestStart: () => undefined,
      onResponseStart: (controller, status) => started.resolve({ status, controller }),
      onResponseData: (_controller, data) => onData(data),
      onResponseEnd: () => ended.resolve(),
      onResponseError: (_controller, error) => {
        started.reject(error);
        ended.reject(error);
      },
    },
  );
  return { started: started.promise, ended: ended.promise };
}
