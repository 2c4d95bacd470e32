import { IsIn, IsObject, IsOptional } from 'class-validator';
import { JSONSchema } from 'class-validator-jsonschema';

const EXPORTED_RECORDS = ['calls', 'events'] as const;
type ExportedRecords = (typeof EXPORTED_RECORDS)[number];

const EXPORT_FORMATS = ['csv', 'jsonl'] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

/** The body of an export. */
export class ExportRequest {
  @IsIn(EXPORTED_RECORDS)
  @JSONSchema({ description: 'calls: what MONITORING_LOGS_LIST lists; events: what AUDIT_EVENTS_LIST lists.' })
  records: ExportedRecords;

  @IsIn(EXPORT_FORMATS)
  @JSONSchema({ description: 'csv: RFC 4180 with a header line; jsonl: one JSON object per line, as in the list.' })
  format: ExportFormat;

  @IsOptional()
  @IsObject()
  @JSONSchema({ description: 'A condition as in the list; without it, all records.' })
  where?: Record<string, unknown> | null;
}
