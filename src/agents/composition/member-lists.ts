import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { DomainError } from '../../core/domain-error.js';
import { FairShare } from '../../core/sharing/fair-share.js';
import { withTimeout } from '../../core/with-timeout.js';
import { type Connection, accountKey } from '../../connections/connection.js';
import { type ToolList, toToolList } from '../../upstreams/catalog/tool-list.js';
import { ToolCatalog } from '../../upstreams/catalog/tool-catalog.js';
import { FanOutReport } from '../../upstreams/fan-out-report.js';
import { ToolInvoker } from '../../upstreams/tool-invoker.js';
import { UpstreamError } from '../../upstreams/contract/upstream-error.js';

/** Why the tools of a connection are unavailable. */
interface MemberFault {
  readonly list?: undefined;
  /** A sentence. */
  readonly fault: string;
  /** Where a person has to sign in first, if that is why. */
  readonly signInPage?: string;
}

/** The tools of a connection, or why they are unavailable. */
export type MemberList = { readonly list: ToolList; readonly fault?: undefined } | MemberFault;

/** How long a composition waits for an upstream's list, in milliseconds. */
const DEADLINE_MS = 10_000;
/** The same for an upstream that failed recently: its callers have already waited. */
const SHORT_DEADLINE_MS = 250;
const FAULT_REMEMBERED_MS = 60_000;
const MAX_REMEMBERED = 10_000;
/** How many stored lists are read at a time: each can be large. */
const MAX_READING = 4;

const LATE = { fault: 'The upstream did not list its tools in time.' } as const satisfies MemberList;
const INACTIVE = { fault: 'The connection is inactive.' } as const satisfies MemberList;
const NEVER_LISTED = { fault: 'The upstream has not listed its tools yet.' } as const satisfies MemberList;
const IN_ERROR = { fault: 'The last check of the connection failed.' } as const satisfies MemberList;

/**
 * The tools of an agent's connections: at once where they are known, otherwise within a deadline. An upstream that is
 * down or slow is a fault of its connection, never an error.
 */
@Injectable()
export class MemberLists {
  /** The ids of connections whose last attempt to list tools failed recently. */
  private readonly faults = new LRUCache<string, true>({
    max: MAX_REMEMBERED,
    ttl: FAULT_REMEMBERED_MS,
    ttlResolution: 1_000,
  });
  private readonly reading = FairShare.ofTurns(MAX_READING);

  constructor(
    private readonly catalog: ToolCatalog,
    private readonly invoker: ToolInvoker,
    private readonly report: FanOutReport,
  ) {}

  async listsOf(connection: Connection): Promise<MemberList> {
    if (connection.status === 'inactive') {
      this.report.unasked(connection.id, 'inactive');
      return INACTIVE;
    }
    if (connection.status === 'error') {
      this.report.unasked(connection.id, 'error');
      // Only another call shows whether it works again; the circuit breaker limits how often.
      this.catalog.recheck(connection).catch(() => undefined);
      return IN_ERROR;
    }
    const known = this.catalog.toolsOf(connection);
    if (!(known instanceof Promise)) return { list: known };
    const listed = await withinDeadline(known, this.deadlineFor(connection), (error) =>
      this.report.failed(connection.id, error),
    );
    if (listed === LATE) this.report.late(connection.id);
    if (listed.fault === undefined) this.faults.delete(accountKey(connection));
    else this.faults.set(accountKey(connection), true);
    return listed;
  }

  /** The last known tools of the connection; the upstream is not called. */
  async lastKnownOf(connection: Connection): Promise<MemberList> {
    const list = await this.reading.within([connection.organizationId], () => this.catalog.lastKnownOf(connection));
    return list === undefined ? NEVER_LISTED : { list };
  }

  /** What the upstream lists now, regardless of cached lists. */
  live({ id, organizationId, accountUserId: userId }: Connection): Promise<MemberList> {
    const listed = this.invoker.listTools(organizationId, id, userId);
    return withinDeadline(
      listed.then((tools) => toToolList(tools, Date.now())),
      DEADLINE_MS,
    );
  }

  private deadlineFor(connection: Connection): number {
    return this.faults.has(accountKey(connection)) ? SHORT_DEADLINE_MS : DEADLINE_MS;
  }
}

/** The read continues after the deadline, and the next caller uses its result. */
async function withinDeadline(
  reading: Promise<ToolList>,
  deadlineMs: number,
  onFault?: (error: UpstreamError | DomainError) => void,
): Promise<MemberList> {
  try {
    const listed = reading.then((list) => ({ list }));
    return await withTimeout(listed, deadlineMs, () => LATE);
  } catch (error) {
    if (!(error instanceof UpstreamError) && !(error instanceof DomainError)) throw error;
    onFault?.(error);
    const signInPage = signInPageOf(error);
    return { fault: error.message, ...(signInPage !== undefined && { signInPage }) };
  }
}

function signInPageOf(error: UpstreamError | DomainError): string | undefined {
  if (error instanceof UpstreamError) return error.authorizationUrl;
  const page = error.data['authorization_url'];
  return error.code === 'upstream_authorization_required' && typeof page === 'string' ? page : undefined;
}
