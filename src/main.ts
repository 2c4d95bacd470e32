import { constants } from 'node:os';

const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/**
 * A terminal signals every process of its foreground group, npm and `timeout` pass the signal on, and the end of a
 * session adds another one: what arrives within this time is one signal.
 */
const ONE_SIGNAL_MS = 2_000;
/** Longer than an orderly stop takes, shorter than orchestrators wait. */
const STOP_WITHIN_MS = 14_500;

let stoppingSince: number | undefined;

// Loading the service's modules takes seconds. A dynamic import lets the signal handlers below precede it.
const starting = import('./start-service.js').then(({ startService }) =>
  stoppingSince === undefined ? startService(process.env) : undefined,
);

/** Also stops a service that is still starting, so that nothing it started is left behind. */
const stop = (): void => {
  stoppingSince = performance.now();
  // A start that waits for an unavailable server does not delay the exit.
  setTimeout(() => process.exit(0), STOP_WITHIN_MS);
  starting
    // A start that fails has closed what it opened.
    .catch(() => undefined)
    .then((service) => service?.stop())
    .then(
      () => process.exit(0),
      () => process.exit(1),
    );
};

for (const signal of STOP_SIGNALS) {
  process.on(signal, () => {
    if (stoppingSince === undefined) stop();
    else if (performance.now() - stoppingSince > ONE_SIGNAL_MS) process.exit(128 + constants.signals[signal]);
  });
}
// A terminal that was closed, or a reader that has ended, must not prevent the orderly stop.
for (const output of [process.stdout, process.stderr]) output.on('error', () => undefined);

try {
  await starting;
} catch (error) {
  const { sentenceFor } = await import('./boot/start-failure.js');
  process.stderr.write(`${sentenceFor(error)}\n`);
  process.exit(stoppingSince === undefined ? 1 : 0);
}
