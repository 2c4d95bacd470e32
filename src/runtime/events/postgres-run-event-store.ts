import type { ClientBase, QueryResult, QueryResultRow, Client } from 'pg';
import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { PipelinedConnections } from '../../core/pipelined-connections.js';
import { framePage, UNKNOWN_RUN } from './frame-page.js';
import {
  type FramePosition,
  EventStoreClosedError,
  StaleWriterError,
  type NoticeListener,
  type FrameBatch,
  type FramePage,
  MAX_BATCH_FRAMES,
  MAX_PAGE_BYTES,
  type PreviousRun,
  type RunEventExpiry,
  RunEventStore,
  type RunSignalListener,
  type RunTopic,
  type StreamWriter,
  type Unsubscribe,
  errorName,
  lifetimeOf,
} from './run-event-store.js';
import { encodePrevious, joinFrames, topicHash } from './signal-codec.js';
import { SignalHub, type SignalLink } from './signal-hub.js';
import { KeptConnection } from '../../core/kept-connection.js';
import { DeletesExpired } from '../../core/deletes-expired.js';

const NOTICE_CHANNEL = 'sbx_cancel';
/** For writers and readers. */
const CONNECTIONS = 2;
const ANSWER_WITHIN_MS = 5_000;

/** `pg_stat_activity` shows the pool's connections under this name. */
export const STORE_APPLICATION_NAME = 'signalbox-events';

const OPEN = { name: 'run_event_open', text: 'SELECT run_event_open($1, $2, $3, $4) AS next' };
const APPEND = {
  name: 'run_event_append',
  text: 'SELECT run_event_append($1, $2, $3, $4, $5, $6, $7, $8, $9) AS stored',
};
const START = { name: 'run_event_start', text: 'SELECT run_event_start($1, $2, $3, $4, $5, $6, $7, $8, $9) AS stored' };
const NOTIFY = { name: 'run_event_notify', text: 'SELECT pg_notify($1, $2)' };

// One statement, so one snapshot: a reader never sees the stream's end without its last frames. The window sum bounds
// the bytes of a page without reading further batches. The batch that holds the reader's frame supplies its epoch.
const READ = {
  name: 'run_event_read',
  text: `
    SELECT s.next_n, s.ended, b.first_n, b.last_n, b.epoch, b.frames
    FROM run_event_streams s
    LEFT JOIN (
      SELECT last_n, first_n, epoch, CASE WHEN last_n > $2::bigint THEN frames ELSE '' END AS frames,
        sum(CASE WHEN last_n > $2::bigint THEN octet_length(frames)
          ELSE 0 END) OVER (ORDER BY last_n) - octet_length(frames) AS bytes_before
      FROM run_event_batches
      WHERE run_id = $1 AND last_n >= $2::bigint AND last_n < $2::bigint + $3 + ${MAX_BATCH_FRAMES}
    ) b ON b.bytes_before < ${MAX_PAGE_BYTES}
    WHERE s.run_id = $1 AND s.expires_at > now()
    ORDER BY b.last_n`,
};

// Uses the same expiry condition as READ.
const ENDED = {
  name: 'run_event_ended',
  text: 'SELECT ended FROM run_event_streams WHERE run_id = $1 AND expires_at > now()',
};

interface ReadRow {
  next_n: number;
  ended: boolean;
  first_n: number | null;
  last_n: number;
  epoch: string;
  frames: string;
}

interface PostgresRunEventStoreOptions extends RunEventExpiry {
  readonly databaseUrl: string;
  readonly log: (message: string) => void;
}

/**
 * The run event bus on PostgreSQL: one row per batch, signalled by NOTIFY in the writing transaction. The notification
 * carries batches up to about 8,000 bytes. LISTEN requires session pooling.
 */
export class PostgresRunEventStore extends RunEventStore {
  private readonly connections: PipelinedConnections;
  private readonly hub = new SignalHub(NOTICE_CHANNEL);
  private readonly listener: KeptConnection;
  private closing: Promise<void> | undefined;

  constructor(private readonly options: PostgresRunEventStoreOptions) {
    super();
    const config = {
      connectionString: options.databaseUrl,
      application_name: STORE_APPLICATION_NAME,
      connectionTimeoutMillis: ANSWER_WITHIN_MS,
      query_timeout: ANSWER_WITHIN_MS,
      keepAlive: true,
    };
    // The buffer does not need durable commits: the transcript is the record.
    const onConnect = async (client: ClientBase): Promise<void> => {
      await client.query('SET synchronous_commit = off');
    };
    this.connections = new PipelinedConnections({ config, connections: CONNECTIONS, onConnect });
    this.listener = listenerFor(options, this.hub);
  }

  async open(_topic: RunTopic, runId: string, { fence, epoch }: StreamWriter): Promise<number> {
    const { rows } = await this.query<{ next: number }>(OPEN, [runId, fence, epoch, lifetimeOf(this.options, false)]);
    if (!rows[0]) {
      throw new StaleWriterError(runId);
    }
    return rows[0].next;
  }

  start(topic: RunTopic, batch: FrameBatch, fence: number, follows: PreviousRun): Promise<void> {
    const { runId, epoch, frames, end } = batch;
    const content = [frames.length, joinFrames(frames), end, lifetimeOf(this.options, end)];
    return this.write(START, runId, [topicChannel(topic), runId, fence, epoch, ...content, encodePrevious(follows)]);
  }

  append(topic: RunTopic, batch: FrameBatch, fence: number): Promise<void> {
    const { runId, epoch, first, frames, end } = batch;
    const content = [first, frames.length, joinFrames(frames), end, lifetimeOf(this.options, end)];
    return this.write(APPEND, runId, [topicChannel(topic), runId, fence, epoch, ...content]);
  }

  async read(_topic: RunTopic, runId: string, after: FramePosition, maxFrames: number): Promise<FramePage> {
    const { rows } = await this.query<ReadRow>(READ, [runId, after.n, maxFrames]);
    const stream = rows[0];
    if (!stream) {
      return UNKNOWN_RUN;
    }
    const batches = rows.flatMap(({ first_n: first, last_n: last, epoch, frames }) =>
      first === null ? [] : [{ first, last, epoch, joinedFrames: frames }],
    );
    return framePage({ ended: stream.ended, nextFrame: stream.next_n, batches }, after, maxFrames);
  }

  async hasEnded(_topic: RunTopic, runId: string): Promise<boolean> {
    const { rows } = await this.query<{ ended: boolean }>(ENDED, [runId]);
    return rows[0]?.ended ?? false;
  }

  subscribe(topic: RunTopic, listener: RunSignalListener): Promise<Unsubscribe> {
    this.listener.start();
    return this.hub.subscribe(topicChannel(topic), listener);
  }

  async announce(notice: string): Promise<void> {
    await this.query(NOTIFY, [NOTICE_CHANNEL, notice]);
  }

  onNotice(listener: NoticeListener): Unsubscribe {
    this.listener.start();
    return this.hub.onNotice(listener);
  }

  close(): Promise<void> {
    this.closing ??= this.closeAll();
    return this.closing;
  }

  private async write(statement: typeof APPEND, runId: string, values: unknown[]): Promise<void> {
    const { rows } = await this.query<{ stored: boolean }>(statement, values);
    if (!rows[0]?.stored) {
      throw new StaleWriterError(runId);
    }
  }

  private async closeAll(): Promise<void> {
    this.hub.close();
    await this.listener.close();
    await this.connections.end();
  }

  private query<R extends QueryResultRow>(
    statement: { readonly name: string; readonly text: string },
    values: unknown[],
  ): Promise<QueryResult<R>> {
    if (this.closing) {
      return Promise.reject(new EventStoreClosedError());
    }
    return this.connections.query<R>({ ...statement, values });
  }
}

function topicChannel(topic: RunTopic): string {
  return `sbx_${topicHash(topic)}`;
}

const CHECK_EVERY_MS = 15_000;

/** `pg_stat_activity` shows the connection under this name. */
export const LISTENER_APPLICATION_NAME = 'signalbox-events-listener';

/** The dedicated LISTEN connection of a process. */
function listenerFor({ databaseUrl, log }: PostgresRunEventStoreOptions, hub: SignalHub): KeptConnection {
  return new KeptConnection({
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

const STREAMS_PER_STATEMENT = 200;
const LONGEST_PAUSE_MS = 30_000;

// A stream whose expiry its writer has just extended is locked, or checked against the new time, and is therefore kept.
const DELETE = `
  WITH expired AS (
    SELECT run_id FROM run_event_streams WHERE expires_at < now() LIMIT ${STREAMS_PER_STATEMENT} FOR UPDATE SKIP LOCKED
  ), batches AS (
    DELETE FROM run_event_batches USING expired WHERE run_event_batches.run_id = expired.run_id
  )
  DELETE FROM run_event_streams USING expired WHERE run_event_streams.run_id = expired.run_id`;

/** Deletes the expired streams of `PostgresRunEventStore`. */
@Injectable()
export class ExpiredStreams {
  constructor(@InjectDataSource() private readonly database: DataSource) {}

  @DeletesExpired('live events', ({ streamRetentionMs }) => Math.min(LONGEST_PAUSE_MS, streamRetentionMs / 2))
  async deleteExpired(): Promise<number> {
    const [, deleted]: [unknown, number] = await this.database.query(DELETE);
    return deleted;
  }
}
