import { methodNotFound, type RequestReceiver, type UpstreamRequest } from '../contract/upstream-request.js';

/**
 * The requests of an upstream that do not name the call during which they are sent: those of programs, and those on the
 * stream of unsolicited messages. The oldest call whose client can be asked at once gets them. All calls of the session
 * are of one caller.
 */
export class SessionRequests {
  private readonly calls = new Set<RequestReceiver>();

  /** @param isOfOneCaller false for a session that callers share, whose calls cannot be told apart: none is asked */
  constructor(private readonly isOfOneCaller: boolean) {}

  /** Passes requests on to this call until the returned function is called. */
  passTo(call: RequestReceiver): () => void {
    if (this.isOfOneCaller) this.calls.add(call);
    return () => void this.calls.delete(call);
  }

  /**
   * Rejects with the error that the upstream gets.
   * @param cancelled aborted when the upstream does not wait for the answer any more
   */
  async answer(request: UpstreamRequest, cancelled?: AbortSignal): Promise<object> {
    const ended = new Set<RequestReceiver>();
    for (;;) {
      const calls = [...this.calls].filter((call) => !ended.has(call));
      const call = calls.find(({ isWaitedFor }) => isWaitedFor) ?? calls[0];
      if (call === undefined) throw methodNotFound();
      const answer = await call.receiveRequest(request, cancelled);
      if (answer !== undefined) return answer;
      ended.add(call);
    }
  }
}
