import { Injectable } from '@nestjs/common';
import { AuditEvents } from '../../audit/events/audit-events.js';
import { AuditEventReader } from '../../audit/events/audit-event-reader.js';
import { MonitoringService } from '../../audit/calls/monitoring.service.js';
import type { Principal } from '../../core/principal.js';
import type { ExportFormat, ExportRequest } from './export.dto.js';
import type { AuditEventItem } from '../../audit/events/audit-event.dto.js';
import type { MonitoringLogItem } from '../../audit/calls/monitoring.dto.js';

/** The columns of a CSV file, by name, each with its value in an item. */
type Columns<T> = Readonly<Record<string, (item: T) => unknown>>;

const CALL_COLUMNS: Columns<MonitoringLogItem> = {
  id: (call) => call.id,
  at: (call) => call.at,
  door: (call) => call.door,
  connection_id: (call) => call.connection_id,
  connection_title: (call) => call.connection_title,
  agent_id: (call) => call.agent_id,
  tool_name: (call) => call.tool_name,
  status: (call) => call.status,
  error_code: (call) => call.error_code,
  duration_ms: (call) => call.duration_ms,
  user_id: (call) => call.user_id,
  user_email: (call) => call.user_email,
  api_key_id: (call) => call.api_key_id,
  key_name: (call) => call.key_name,
  run_id: (call) => call.run_id,
  request_id: (call) => call.request_id,
  public: (call) => call.public,
  arguments: (call) => call.arguments,
  result: (call) => call.result,
};

const EVENT_COLUMNS: Columns<AuditEventItem> = {
  id: (event) => event.id,
  at: (event) => event.at,
  event: (event) => event.event,
  user_id: ({ actor }) => actor.user_id,
  user_email: ({ actor }) => actor.user_email,
  api_key_id: ({ actor }) => actor.api_key_id,
  key_name: ({ actor }) => actor.key_name,
  client_id: ({ actor }) => actor.client_id,
  source: (event) => event.source,
  target_type: ({ target }) => target?.type,
  target_id: ({ target }) => target?.id,
  target_name: ({ target }) => target?.name,
  changes: (event) => event.changes,
};

/** Exports the record of tool calls and the record of events, batch by batch, whatever their number. */
@Injectable()
export class ExportService {
  constructor(
    private readonly calls: MonitoringService,
    private readonly events: AuditEventReader,
    private readonly record: AuditEvents,
  ) {}

  /**
   * The file as parts of text. That it was exported is on record.
   * @param callerLeft ends the reading of the records
   * @throws DomainError `invalid_request` for a `where` that the list refuses
   */
  async open(request: ExportRequest, caller: Principal, callerLeft: AbortSignal): Promise<AsyncGenerator<string>> {
    const parts = this.partsOf(request, caller, callerLeft);
    const changes = { records: request.records, format: request.format, where: request.where ?? null };
    const event = { event: 'records.exported', actor: caller, target: null, changes } as const;
    await this.record.record(caller.organization.id, event);
    return parts;
  }

  private partsOf(
    { records, format, where }: ExportRequest,
    caller: Principal,
    callerLeft: AbortSignal,
  ): AsyncGenerator<string> {
    return records === 'calls'
      ? write(this.calls.scan(where ?? undefined, caller, callerLeft), CALL_COLUMNS, format)
      : write(this.events.scan(where ?? undefined, caller, callerLeft), EVENT_COLUMNS, format);
  }
}

async function* write<T>(
  batches: AsyncGenerator<T[]>,
  columns: Readonly<Record<string, (item: T) => unknown>>,
  format: ExportFormat,
): AsyncGenerator<string> {
  const values = Object.values(columns);
  if (format === 'csv') yield csvLine(Object.keys(columns));
  for await (const items of batches) {
    yield items
      .map((item) => (format === 'csv' ? csvLine(values.map((valueOf) => valueOf(item))) : `${JSON.stringify(item)}\n`))
      .join('');
  }
}

/**
 * A spreadsheet evaluates a cell that starts with one of these, in full width too, and also after spaces, which it can
 * cut off (OWASP, "CSV Injection").
 */
const FORMULA_START = /^[\s\p{Cf}]*[=+\-@＝＋－＠]|^[\t\r\n]/u;
/** A semicolon and a tab separate cells too, depending on the spreadsheet's language. */
const NEEDS_QUOTES = /[",;\t\r\n]/;

/**
 * A value as a cell of a CSV file (RFC 4180): null is empty, objects are JSON. Text that a spreadsheet would evaluate
 * gets a leading apostrophe.
 */
export function csvCell(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const safe = FORMULA_START.test(text) ? `'${text}` : text;
  return NEEDS_QUOTES.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** One line of a CSV file, with its end. */
export function csvLine(values: readonly unknown[]): string {
  return `${values.map(csvCell).join(',')}\r\n`;
}
