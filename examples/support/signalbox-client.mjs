/** The HTTP calls of an integration. No client library is needed, only `fetch`. */
export class SignalboxClient {
  #api;
  #headers;
  #signal;

  /**
   * @param {{ url: string, org: string, apiKey: string }} service the URL of Signalbox, the organization's slug, and an API key
   * @param {AbortSignal} signal aborts all requests in progress
   */
  constructor({ url, org, apiKey }, signal) {
    this.#api = `${url}/api/${org}`;
    this.#headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
    this.#signal = signal;
  }

  /** Calls a management tool: `POST /api/:org/tools/:NAME`. */
  async tool(name, input) {
    const response = await this.#send(`tools/${name}`, { method: 'POST', body: JSON.stringify(input) });
    return response.json();
  }

  /** Posts a message. Returns the run's id; the stream delivers the answer of the agent. */
  async post(threadId, agentId, text) {
    const message = { role: 'user', parts: [{ type: 'text', text }] };
    const response = await this.#send(`agent-runtime/threads/${threadId}/messages`, {
      method: 'POST',
      body: JSON.stringify({ messages: [message], agent: { id: agentId } }),
    });
    return response.json();
  }

  /** Opens the live stream of a thread. Resolves when the stream is open, before there is any output. */
  stream(threadId) {
    return this.#send(`agent-runtime/threads/${threadId}/stream`, { headers: { accept: 'text/event-stream' } });
  }

  /** Errors are problem documents (RFC 9457): `code` is stable, and `detail` is for people. */
  async #send(path, options) {
    const headers = { ...this.#headers, ...options.headers };
    const response = await fetch(`${this.#api}/${path}`, { ...options, headers, signal: this.#signal });
    if (response.ok) return response;
    const { code, detail } = await response.json();
    throw new Error(`${path} returned ${response.status} ${code}: ${detail}`);
  }
}
