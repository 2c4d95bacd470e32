import { sentenceFor } from './boot/start-failure.js';
import { startService } from './boot/start-service.js';

const starting = startService(process.env);

/** Also while starting: what has been started by then would be left behind. */
const stop = (): void => {
  // A second signal does not wait.
  process.once('SIGINT', () => process.exit(130));
  process.once('SIGTERM', () => process.exit(143));
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
