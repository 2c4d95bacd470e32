import { Readable } from 'node:stream';
import { Body, Controller, HttpCode, Post, Res } from '@nestjs/common';
import { ApiBody, ApiOperation, ApiParam, ApiProduces, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Access } from '../../core/access.js';
import { AnswerBudget, type HeldAnswer } from '../../core/answers/answer-budget.js';
import { Caller } from '../../core/caller.js';
import type { Principal } from '../../core/principal.js';
import { RequirePermission } from '../../core/require-permission.js';
import { InputPipe } from '../../core/validation/input.pipe.js';
import { schemaOf } from '../../core/validation/schema-of.js';
import { OpenCredentials } from '../../identity/credentials/open-credentials.js';
import { onceClosed, untilClosed } from '../../platform/http/once-closed.js';
import { ExportRequest, type ExportFormat } from './export.dto.js';
import { ExportService } from './export.service.js';

const TYPES: Readonly<Record<ExportFormat, string>> = {
  csv: 'text/csv; charset=utf-8; header=present',
  jsonl: 'application/jsonl; charset=utf-8',
};

/** The memory of one export: a batch of records with the largest contents, as rows and as text. */
const HELD_BYTES = 16 * 1_048_576;

/**
 * Streams exports. The response ends regularly only after the last record: a connection that breaks off earlier is an
 * export that is not complete.
 */
@ApiTags('monitoring')
@ApiParam({ name: 'org', description: 'Organization slug' })
@Controller('api/:org/monitoring/export')
@Access('organization')
export class ExportsController {
  constructor(
    private readonly exports: ExportService,
    private readonly credentials: OpenCredentials,
    private readonly budget: AnswerBudget,
  ) {}

  @Post()
  @RequirePermission('MONITORING_EXPORT')
  @HttpCode(200)
  @ApiOperation({
    operationId: 'exportRecords',
    summary: 'Exports the record of tool calls or of events as CSV or JSON lines, newest first.',
    description:
      'Needs the permission MONITORING_EXPORT. The file is streamed, and is complete only if the response ends ' +
      'regularly. In CSV, text that a spreadsheet would evaluate (=, +, -, @, also in full width, tab, CR or LF at ' +
      'its start) has a leading apostrophe.',
  })
  @ApiBody({ schema: schemaOf(ExportRequest) })
  @ApiProduces('text/csv', 'application/jsonl')
  @ApiResponse({
    status: 200,
    description: 'The file',
    content: { 'text/csv': { schema: { type: 'string' } }, 'application/jsonl': { schema: { type: 'string' } } },
  })
  async export(
    @Body(new InputPipe(ExportRequest)) request: ExportRequest,
    @Caller() caller: Principal,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const held = this.budget.openAnswer(caller, untilClosed(reply));
    const file = await this.openFile(request, caller, held).catch((error: unknown) => {
      held.release();
      throw error;
    });
    // Once the caller has left, a stream is closed only when its last read has ended.
    file.once('close', () => held.release());
    onceClosed(reply, () => file.destroy());
    if (file.destroyed) return;
    const unwatch = this.credentials.watchPermissions(caller, () => reply.raw.destroy());
    onceClosed(reply, unwatch);
    void reply
      .status(200)
      .header('content-type', TYPES[request.format])
      .header('content-disposition', `attachment; filename="${request.records}.${request.format}"`)
      .header('cache-control', 'no-store')
      .send(file);
  }

  private async openFile(request: ExportRequest, caller: Principal, held: HeldAnswer): Promise<Readable> {
    await held.reserveInTurn(HELD_BYTES);
    const parts = await this.exports.open(request, caller, held.callerLeft);
    return Readable.from(parts, { objectMode: true, highWaterMark: 1 });
  }
}
