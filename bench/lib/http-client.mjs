import { Agent, request } from 'node:http';

const agent = new Agent({ keepAlive: true, maxSockets: 64 });

/** Posts JSON on a keep-alive connection. Resolves with the parsed answer; rejects unless its status is 2xx. */
export function postJson(url, headers, body) {
  const text = JSON.stringify(body);
  const { promise, resolve, reject } = Promise.withResolvers();
  const call = request(url, {
    method: 'POST',
    agent,
    headers: { ...headers, 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) },
  });
  call.once('error', reject);
  call.once('response', async (response) => {
    const answer = (await response.toArray()).join('');
    if (response.statusCode >= 200 && response.statusCode < 300) resolve(JSON.parse(answer));
    else reject(new Error(`POST ${url} answered ${response.statusCode}: ${answer}`));
  });
  call.end(text);
  return promise;
}

/** A reader on a separate connection. Records when each event arrives (`performance.now`, in milliseconds). */
export class EventReader {
  #response;
  #rest = '';
  #arrived = [];
  #wake;

  /**
   * Resolves when the headers have arrived, which means that the stream is open.
   * @param body is posted, on a keep-alive connection; without it, the request is a GET
   */
  static open(url, headers, body) {
    const { promise, resolve, reject } = Promise.withResolvers();
    const form =
      body === undefined
        ? { agent: false, headers: { ...headers, accept: 'text/event-stream' } }
        : {
            agent,
            method: 'POST',
            headers: { ...headers, accept: 'text/event-stream', 'content-type': 'application/json' },
          };
    const call = request(url, form);
    call.once('error', reject);
    call.once('response', (response) => {
      if (response.statusCode === 200) resolve(new EventReader(response));
      else reject(new Error(`${call.method} ${url} answered ${response.statusCode}`));
    });
    call.end(body && JSON.stringify(body));
    return promise;
  }

  constructor(response) {
    this.#response = response;
    // Readers disconnect on purpose; an interrupted stream shows as a missing event.
    response.on('error', () => undefined);
    response.setEncoding('utf8').on('data', (text) => this.#take(text));
    response.on('close', () => this.#wake?.(undefined));
  }

  /** Resolves with the data and arrival time of the next event. @throws if the stream ends instead */
  async next() {
    if (this.#arrived.length > 0) return this.#arrived.shift();
    if (this.#response.closed) throw new Error('A stream ended too early.');
    await new Promise((resolve) => {
      this.#wake = resolve;
    });
    this.#wake = undefined;
    return this.next();
  }

  close() {
    this.#response.destroy();
  }

  #take(text) {
    const at = performance.now();
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop();
    for (const line of lines) if (line.startsWith('data: ')) this.#arrived.push({ data: line.slice(6), at });
    if (this.#arrived.length > 0) this.#wake?.();
  }
}
