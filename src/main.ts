import { sentenceFor } from './boot/start-failure.js';
import { startService } from './start-service.js';

/** More than an orderly stop takes, less than orchestrators wait. */
const STOP_WITHIN_MS = 14_500;

const starting = startService(process.env);

/** Also while starting: what has been started by then would be left behind. */
const stop = (): void => {
  // A second signal does not wait.
  process.once('SIGINT', () => process.exit(130));
  process.once('SIGTERM', () => process.exit(143));
  // A start that waits for a server that is away does not hold up the end.
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
