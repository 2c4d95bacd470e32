/** The few lines of HTTP that an integrator needs: no client library, only `fetch`. */
export class SignalboxClient {
  #api;
  #headers;
  #signal;

  /**
   * @param {{ url: string, org: string, apiKey: string }} service where Signalbox listens, the organization's slug, a key
   * @param {AbortSignal} signal ends every request that is under way
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

  /** Posts a message. The answer is 202 with the run's id; what the agent says comes on the stream. */
  async post(threadId, agentId, text) {
    const message = { role: 'user', parts: [{ type: 'text', text }] };
    const response = await this.#send(`agent-runtime/threads/${threadId}/messages`, {
      method: 'POST',
      body: JSON.stringify({ messages: [message], agent: { id: agentId } }),
    });
    return response.json();
  }

  /** Opens the live stream of a thread; resolves as soon as the service listens for us, before there is any output. */
  stream(threadId) {
    return this.#send(`agent-runtime/threads/${threadId}/stream`, { headers: { accept: 'text/event-stream' } });
  }

  /** Whatever goes wrong is answered with a problem document (RFC 9457); `code` is stable, `detail` is for people. */
  async #send(path, options) {
    const headers = { ...this.#headers, ...options.headers };
    const response = await fetch(`${this.#api}/${path}`, { ...options, headers, signal: this.#signal });
    if (response.ok) return response;
    const { code, detail } = await response.json();
    throw new Error(`${path} was answered with ${response.status} ${code}: ${detail}`);
  }
}
