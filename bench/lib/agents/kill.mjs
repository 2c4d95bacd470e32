import { setTimeout as sleep } from 'node:timers/promises';
import { ANSWER, SLOW } from './script.mjs';

/** Of the ten seconds that an answer takes. A server that has not accepted a post by then is not asked about it. */
const ACCEPT_WITHIN_MS = 5000;
/** After the last post is accepted, so that runs are in the middle of their answers. */
const KILL_AFTER_MS = 1000;
const WITHIN_MS = 60_000;
const LOOK_EACH_MS = 250;
/** After the last answer is stored. */
const STREAMS_WITHIN_MS = 5000;

/**
 * Starts runs, kills the server with SIGKILL while they are in progress, starts it again, and has each reader follow
 * its stream after the last event that it received.
 * @param leg has its `target`, which the restarted one replaces, and what `start`s its process
 * @returns of the runs whose post the server had accepted: completed, lost, doubled (more than one stored answer), and
 *   streams whole (each word once); how many posts it had not accepted; seconds from the restart to the last answer
 */
export async function killWith(leg, count) {
  const { target } = leg;
  const runs = await Promise.all(Array.from({ length: count }, () => target.newRun(SLOW)));
  const all = runs.map((run) => new Reading(run, target.headers));
  const posts = all.map((reading) => reading.post());
  await Promise.race([Promise.all(all.map(({ accepted }) => accepted)), sleep(ACCEPT_WITHIN_MS)]);
  await sleep(KILL_AFTER_MS);
  const readings = all.filter(({ isAccepted }) => isAccepted);
  const completedBefore = readings.filter(({ hasEnded }) => hasEnded).length;
  if (completedBefore > 0) throw new Error(`${completedBefore} runs were complete before the kill.`);
  process.kill(target.pid, 'SIGKILL');
  await Promise.all(posts);
  leg.target = await leg.start();
  const restartedAt = performance.now();
  const stopAt = restartedAt + WITHIN_MS;
  const follows = readings.map((reading) => reading.follow(stopAt));
  let [stored, lastAt] = [[], undefined];
  while (performance.now() < stopAt) {
    stored = await Promise.all(readings.map(({ run }) => run.answers().catch(() => [])));
    if (stored.every((answers) => answers.includes(ANSWER))) {
      lastAt = performance.now();
      break;
    }
    await sleep(LOOK_EACH_MS);
  }
  await Promise.race([Promise.all(follows), sleep(STREAMS_WITHIN_MS)]);
  const completed = stored.filter((answers) => answers.includes(ANSWER)).length;
  return {
    unaccepted: count - readings.length,
    completed,
    lost: readings.length - completed,
    doubled: stored.filter((answers) => answers.length > 1).length,
    whole: readings.filter(({ text, hasEnded }) => hasEnded && text === ANSWER).length,
    lastAfterS: lastAt && (lastAt - restartedAt) / 1000,
  };
}

/** One reader of one run, across the kill. */
class Reading {
  text = '';
  hasEnded = false;
  isAccepted = false;
  #lastId;
  #accepted = Promise.withResolvers();

  constructor(run, headers) {
    this.run = run;
    this.headers = headers;
  }

  /** Resolves when the server has accepted the post: it answers with a stream. */
  get accepted() {
    return this.#accepted.promise;
  }

  async post() {
    const headers = { ...this.headers, 'content-type': 'application/json' };
    await this.#read(this.run.post, { method: 'POST', headers, body: JSON.stringify(this.run.body) });
  }

  /** Follows the stream until it ends, also where the server has to be asked again. */
  async follow(stopAt) {
    while (!this.hasEnded && performance.now() < stopAt) {
      const position = this.#lastId === undefined ? {} : { 'last-event-id': this.#lastId };
      const signal = AbortSignal.timeout(Math.ceil(Math.max(1, stopAt - performance.now())));
      await this.#read(this.run.stream, { headers: { ...this.headers, ...position }, signal });
      if (!this.hasEnded) await sleep(LOOK_EACH_MS);
    }
  }

  /** Reads until the connection ends, however it ends. */
  async #read(url, options) {
    try {
      const answer = await fetch(url, { ...options, headers: { ...options.headers, accept: 'text/event-stream' } });
      if (!answer.ok) return;
      this.isAccepted = true;
      this.#accepted.resolve();
      let rest = '';
      for await (const piece of answer.body.pipeThrough(new TextDecoderStream())) {
        const frames = (rest + piece).split('\n\n');
        rest = frames.pop();
        for (const frame of frames) this.#take(frame);
      }
    } catch {
      // The kill, or the end of the time: what has arrived counts.
    }
  }

  #take(frame) {
    const lines = frame.split('\n');
    const field = (name) => lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
    this.#lastId = field('id') ?? this.#lastId;
    const data = field('data');
    if (data === '[DONE]') this.hasEnded = true;
    else if (data !== undefined) {
      const part = JSON.parse(data);
      if (part.type === 'text-delta') this.text += part.delta;
      // The step is repeated: what has arrived of it does not count.
      if (part.type === 'reset-step') this.text = '';
    }
  }
}
