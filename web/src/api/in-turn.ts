/**
 * Connections that stay open. Over HTTP/1.1, a browser opens six to a host for all of its tabs together, and every
 * other request waits for one of them.
 */
export interface Pool {
  /** The same in all tabs that share its places. */
  readonly name: string;
  readonly places: number;
  /** Events of the window with which a page takes a place from another page. */
  readonly claims: readonly string[];
}

/** The page has come into sight. */
export const SHOWN = ['visibilitychange'] as const;
/** Somebody has turned to the page. */
export const USED = [...SHOWN, 'focus', 'pointerdown', 'keydown'] as const;

/** How a hold of a place ended: there was none, it was taken away, or the work is done. */
type Outcome = 'none' | 'lost' | 'done';
type Work = (held: AbortSignal) => Promise<void>;

interface Holding {
  readonly work: Work;
  /** Called when the place is taken away, before `work` has ended. */
  readonly onLost: () => void;
}

/**
 * Calls `work` each time that this page gets one of the pool's places, until `work` returns or `signal` is aborted. A
 * page that is opened or claims its place takes it from another page: the signal of that page's `work` is aborted, and
 * the page waits for a free place or its next claim. A page that is left gives its place up, and goes on if the browser
 * shows it again.
 * @throws what `work` throws while the page has the place
 */
export async function inTurn(pool: Pool, signal: AbortSignal, work: Work): Promise<void> {
  let claims = isInSight();
  while (!signal.aborted) {
    const stage = new AbortController();
    const left = abortedBy(['pagehide'], stage.signal);
    const claim = (): AbortSignal => abortedBy(pool.claims, stage.signal, isInSight);
    let claimed = claim();
    // While it had the place, the page had nothing to claim. Its work can take a moment to end after the loss.
    const onLost = (): void => void (claimed = claim());
    const taking = takePlace(pool, AbortSignal.any([signal, left]), claims ? undefined : claimed, { work, onLost });
    const outcome = await taking.finally(() => stage.abort());
    if (outcome === 'done') return;
    if (left.aborted) await happens('pageshow', signal);
    claims = left.aborted ? isInSight() : claimed.aborted;
  }
}

/** @param claimed ends the wait for a free place; without it, a place is taken from another page */
async function takePlace(
  { name, places }: Pool,
  signal: AbortSignal,
  claimed: AbortSignal | undefined,
  holding: Holding,
): Promise<Outcome> {
  // Only a page of a secure context has locks (W3C Web Locks §3). Without them, pages hold places while they are in
  // sight.
  if (!('locks' in navigator)) return holdInSight(signal, holding.work);
  const names = Array.from({ length: places }, (_each, place) => `signalbox ${name} ${place}`);
  for (const each of names) {
    const outcome = await hold(each, { ifAvailable: true }, signal, holding);
    if (outcome !== 'none') return outcome;
  }
  const any = names[Math.floor(Math.random() * places)] ?? '';
  const options = claimed === undefined ? { steal: true } : { signal: AbortSignal.any([signal, claimed]) };
  return hold(any, options, signal, holding);
}

async function hold(
  name: string,
  options: LockOptions,
  signal: AbortSignal,
  { work, onLost }: Holding,
): Promise<Outcome> {
  const lost = new AbortController();
  let running: Promise<Outcome> | undefined;
  await navigator.locks
    .request(name, options, async (lock) => {
      if (lock !== null) running = outcomeOf(work, AbortSignal.any([signal, lost.signal]));
      // Its failure is that of this function.
      await running?.catch(() => undefined);
    })
    // Taken by another page, or no longer waited for.
    .catch(() => undefined);
  if (running === undefined) return 'none';
  lost.abort();
  onLost();
  return running;
}

async function holdInSight(signal: AbortSignal, work: Work): Promise<Outcome> {
  while (!isInSight() && !signal.aborted) await happens('visibilitychange', signal);
  const stage = new AbortController();
  const hidden = abortedBy(SHOWN, stage.signal, () => !isInSight());
  return outcomeOf(work, AbortSignal.any([signal, hidden])).finally(() => stage.abort());
}

async function outcomeOf(work: Work, held: AbortSignal): Promise<Outcome> {
  try {
    if (!held.aborted) await work(held);
  } catch (error) {
    if (!held.aborted) throw error;
  }
  return held.aborted ? 'lost' : 'done';
}

function isInSight(): boolean {
  return document.visibilityState === 'visible';
}

/** A signal that one of these events of the window aborts. @param until stops the listening */
function abortedBy(events: readonly string[], until: AbortSignal, condition = (): boolean => true): AbortSignal {
  const controller = new AbortController();
  const listener = (): void => {
    if (condition()) controller.abort();
  };
  for (const event of events) addEventListener(event, listener, { signal: until });
  return controller.signal;
}

/** Resolves with the next such event of the window, or when `signal` is aborted. */
async function happens(event: string, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => {
    addEventListener(event, () => resolve(), { once: true, signal });
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
