/** Longer than an orderly stop takes, shorter than orchestrators wait. */
const STOP_WITHIN_MS = 14_500;

let isStopping = false;

// Loading the service's modules takes seconds. A dynamic import lets the signal handlers below precede it.
const starting = import('./start-service.js').then(({ startService }) =>
  isStopping ? undefined : startService(process.env),
);

/** Also stops a service that is still starting, so that nothing it started is left behind. */
const stop = (): void => {
  isStopping = true;
  // A second signal exits immediately.
  process.once('SIGINT', () => process.exit(130));
  process.once('SIGTERM', () => process.exit(143));
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
process.once('SIGINT', stop);
process.once('SIGTERM', stop);

try {
  await starting;
} catch (error) {
  const { sentenceFor } = await import('./boot/start-failure.js');
  process.stderr.write(`${sentenceFor(error)}\n`);
  process.exit(isStopping ? 0 : 1);
}
