import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below the ports that Linux gives to outgoing connections, and as many for each Jest worker. */
const FIRST_PORT = 10_000;
const PORTS_OF_WORKER = 2_000;

let given = Math.floor(Math.random() * PORTS_OF_WORKER);

/** A port of the loopback that nobody has right now, and that only the caller is told of. */
export async function freePort(): Promise<number> {
  const worker = Number(process.env['JEST_WORKER_ID'] ?? 0) % 10;
  for (;;) {
    const port = FIRST_PORT + worker * PORTS_OF_WORKER + (given++ % PORTS_OF_WORKER);
    const probe = createServer();
    try {
      await once(probe.listen(port, '127.0.0.1'), 'listening');
    } catch {
      continue;
    }
    probe.close();
    await once(probe, 'close');
    return port;
  }
}
