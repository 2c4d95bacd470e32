import { Injectable } from '@nestjs/common';
import { AuditEvents } from '../../audit/events/audit-events.js';
import { AuditEventReader } from '../../audit/events/audit-event-reader.js';
import { MonitoringService } from '../../audit/calls/monitoring.service.js';
import type { Principal } from '../../core/principal.js';
import { csvLine } from './csv-cell.js';
import type { ExportFormat, ExportRequest } from './export.dto.js';
import { CALL_COLUMNS, EVENT_COLUMNS } from './export-columns.js';

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
