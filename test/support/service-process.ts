import { fileURLToPath } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from './free-port.js';
import { Program } from './program.js';
import { TEST_ENVIRONMENT } from './test-environment.js';

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const ANNOUNCEMENT = /listens on (\S+)[^]*export API_KEY=(\S+)/;
const START_TIMEOUT_MS = 60_000;

/** What a service tells when it listens. */
export interface Announced {
  url: string;
  /** The key of a first start; undefined on later ones. */
  apiKey: string | undefined;
}

/** What Node.js has compiled, for the next start of the same build: a fifth of the processor time of a start. */
export const COMPILED = fileURLToPath(new URL('../../node_modules/.cache/compiled', import.meta.url));

/** The built service as a process of its own. Its environment is only what the test names. */
export class ServiceProcess extends Program {
  /** @param main the entry of another build */
  constructor(env: Record<string, string>, main = MAIN) {
    super(process.execPath, [main], {
      env: {
        PATH: process.env['PATH'],
        PORT: '0',
        METRICS_PORT: '0',
        LOG_LEVEL: 'info',
        NODE_COMPILE_CACHE: COMPILED,
        ...env,
      },
    });
  }

  /** Waits until an `api` or `all` process listens. @throws with what it printed, if it ends instead */
  async listening(): Promise<Announced> {
    const [, url = '', key = ''] = await this.printed(ANNOUNCEMENT);
    return { url, apiKey: /^sbx_\w+$/.test(key) ? key : undefined };
  }
}

/** Starts the built service with `ROLE=worker`, and waits until it is ready. */
export async function startWorkerProcess(env: Record<string, string>): Promise<ServiceProcess> {
  const port = env['PORT'] ?? String(await freePort());
  const worker = new ServiceProcess({ LOG_LEVEL: 'error', ...env, ROLE: 'worker', PORT: port });
  for (const deadline = Date.now() + START_TIMEOUT_MS; ; await sleep(50)) {
    const answer = await fetch(`http://127.0.0.1:${port}/health/ready`).catch(() => undefined);
    await answer?.body?.cancel();
    if (answer?.ok === true) return worker;
    if (worker.hasEnded || Date.now() > deadline) {
      throw new Error(
        `The worker did not become ready and ended with ${await worker.kill('SIGKILL')}: ${worker.output}`,
      );
    }
  }
}

/** The environment of a service that acts as `startTestApp` on this database, and prints what fails. */
export function testEnvironment(databaseUrl: string): Record<string, string> {
  const coverage = process.env['NODE_V8_COVERAGE'];
  return {
    ...TEST_ENVIRONMENT,
    LOG_LEVEL: 'error',
    DATABASE_URL: databaseUrl,
    // Where Node writes what the service has executed, when coverage is measured.
    ...(coverage !== undefined && { NODE_V8_COVERAGE: coverage }),
  };
}
