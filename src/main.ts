import { startService } from './boot/start-service.js';
import { sentenceFor } from './boot/start-failure.js';

try {
  const service = await startService(process.env);
  const stop = (): void => {
    // A second signal does not wait.
    process.once('SIGINT', () => process.exit(130));
    process.once('SIGTERM', () => process.exit(143));
    service.stop().then(
      () => process.exit(0),
      () => process.exit(1),
    );
  };
  process.once('SIGINT', stop);
  process.once('SIGTERM', stop);
} catch (error) {
  process.stderr.write(`${sentenceFor(error)}\n`);
  process.exit(1);
}
