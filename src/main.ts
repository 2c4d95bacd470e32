import { sentenceFor } from './boot/start-failure.js';
import { startService } from './start-service.js';

/** Longer than an orderly stop takes, shorter than orchestrators wait. */
const STOP_WITHIN_MS = 14_500;

const starting = startService(process.env);

/** Also stops a service that is still starting, so that nothing it started is left behind. */
const stop = (): void => {
  // A second signal exits immediately.
  process.once('SIGINT', () => process.exit(130));
  process.once('SIGTERM', () => process.exit(143));
  // A start that waits for an unavailable server does not delay the exit.
  setTimeout(() => process.exit(0), STOP_WITHIN_MS);
  starting
    .then((service) => service.stop())
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
  process.stderr.write(`${sentenceFor(error)}\n`);
  process.exit(1);
}
