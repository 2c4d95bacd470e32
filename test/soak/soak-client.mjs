import { Agent, request } from 'node:http';

/** The service as its clients see it. */
export class SoakClient {
  #agent = new Agent({ keepAlive: true, maxSockets: 64 });

  /** @param {string} url @param {string} apiKey */
  constructor(url, apiKey) {
    this.api = `${url}/api/default`;
    this.headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
  }

  /** Calls a management tool that has to succeed. */
  async tool(name, input = {}) {
    const { status, text } = await this.post(`/tools/${name}`, input);
    if (status !== 200) throw new Error(`${name} answered ${status}: ${text}`);
    return JSON.parse(text);
  }

  /** @returns {Promise<{ status: number, headers: import('node:http').IncomingHttpHeaders, text: string }>} */
  post(path, body, headers = {}) {
    return new Promise((resolve, reject) => {
      const call = request(`${this.api}${path}`, {
        method: 'POST',
        agent: this.#agent,
        headers: { ...this.headers, accept: 'application/json, text/event-stream', ...headers },
      });
      call.once('error', reject);
      call.once('response', (response) => {
        const { statusCode: status, headers: answered } = response;
        const broken = (cause) => reject(new Error(`The answer ${status} of ${path} broke off.`, { cause }));
        response.toArray().then((chunks) => resolve({ status, headers: answered, text: chunks.join('') }), broken);
      });
      call.end(JSON.stringify(body));
    });
  }

  /**
   * Starts a request on a connection of its own and breaks the connection.
   * @param {{ method?: string, body?: string, declared?: number,
   *   until: (call: import('node:http').ClientRequest) => Promise<unknown> }} options
   *   `declared`: the length of the body that is announced; `until` resolves when it is time to hang up
   */
  async hangUp(path, { method = 'GET', body = '', declared = Buffer.byteLength(body), until }) {
    const call = request(`${this.api}${path}`, {
      method,
      agent: false,
      headers: { ...this.headers, accept: 'application/json, text/event-stream', 'content-length': declared },
    });
    call.on('error', () => undefined);
    call.on('response', (response) => response.on('error', () => undefined).resume());
    if (body !== '') call.write(body);
    else call.end();
    await until(call);
    const closed = new Promise((resolve) => call.once('close', resolve));
    call.destroy();
    await closed;
  }

  close() {
    this.#agent.destroy();
  }
}

/** Runs `work` for 0 … count-1, `width` at a time. */
export async function each(count, width, work) {
  let next = 0;
  const lane = async () => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: width }, lane));
}
