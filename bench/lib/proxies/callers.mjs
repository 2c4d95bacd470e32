import { fork } from 'node:child_process';

/** For a job that never answers: an endpoint that opens and then says nothing. */
const ANSWER_WITHIN_MS = 60_000;

/** Starts the process with the SDK clients, see `caller.mjs`. */
export function startCallers() {
  const child = fork(new URL('caller.mjs', import.meta.url), { stdio: 'inherit' });
  const waiting = new Map();
  let last = 0;
  const settle = (id, answer) => {
    waiting.get(id)?.(answer);
    waiting.delete(id);
  };
  child.on('message', ({ id, ...answer }) => settle(id, answer));
  child.once('exit', () => [...waiting.keys()].forEach((id) => settle(id, { error: 'The callers exited.' })));
  const ask = async (job) => {
    if (!child.connected) throw new Error('The callers exited.');
    const id = ++last;
    const timer = setTimeout(() => settle(id, { error: `No answer in ${ANSWER_WITHIN_MS} ms.` }), ANSWER_WITHIN_MS);
    const answer = await new Promise((resolve) => {
      waiting.set(id, resolve);
      child.send({ id, ...job });
    });
    clearTimeout(timer);
    if (answer.error !== undefined) throw new Error(answer.error);
    return answer;
  };
  return {
    /** Opens the clients of a target. @returns the protocol revision that they agreed on */
    open: async (name, { url, transport, headers, revision, call }, callers) =>
      (await ask({ open: { name, url, transport, headers, revision, call, callers } })).revision,
    /** @returns milliseconds of each call */
    measure: async (name, callers, ms) => (await ask({ measure: { name, callers, ms } })).times,
    stop: () => child.connected && child.disconnect(),
  };
}
