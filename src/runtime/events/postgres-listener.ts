import type { Client } from 'pg';
import { KeptConnection } from '../../core/kept-connection.js';
import { errorName } from './run-event-errors.js';
import type { SignalHub, SignalLink } from './signal-hub.js';

const CHECK_EVERY_MS = 15_000;

/** `pg_stat_activity` shows the connection under this name. */
export const LISTENER_APPLICATION_NAME = 'signalbox-events-listener';

/** The dedicated LISTEN connection of a process. */
export class PostgresListener {
  private readonly connection: KeptConnection;

  constructor(databaseUrl: string, hub: SignalHub, log: (message: string) => void) {
    this.connection = new KeptConnection({
      databaseUrl,
      applicationName: LISTENER_APPLICATION_NAME,
      checkEveryMs: CHECK_EVERY_MS,
      onOpen: (client, fail) => {
        client.on('notification', ({ channel, payload = '' }) => hub.receive(channel, payload));
        hub.attach(linkTo(client, fail));
      },
      onEnd: () => hub.detach(),
      onFailure: (error, failures) => {
        if (failures === 1) log(`The connection for live events was lost; reconnecting (${errorName(error)})`);
      },
    });
  }

  /** Connects on the first call; later calls do nothing. */
  start(): void {
    this.connection.start();
  }

  close(): Promise<void> {
    return this.connection.close();
  }
}

/** Channel names need no escaping: they consist of letters, digits and underscores. */
function linkTo(client: Client, onFailure: (error: unknown) => void): SignalLink {
  return {
    async apply(add, remove) {
      const statements = [...remove.map((name) => `UNLISTEN "${name}"`), ...add.map((name) => `LISTEN "${name}"`)];
      await client.query(statements.join(';')).catch((error: unknown) => {
        onFailure(error);
        throw error;
      });
    },
  };
}
