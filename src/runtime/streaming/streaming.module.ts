import { Module } from '@nestjs/common';
import { CredentialsModule } from '../../identity/credentials/credentials.module.js';
import { EventsModule } from '../events/events.module.js';
import { RunRecordsModule } from '../runs/records/run-records.module.js';
import { TelemetryModule } from '../../platform/telemetry/telemetry.module.js';
import { ThreadsModule } from '../threads/threads.module.js';
import { RunStreamService } from './run-stream.service.js';
import { StreamController } from './stream.controller.js';
import { StreamEnding } from './stream-ending.js';
import { StreamResponder } from './stream-responder.js';

@Module({
  imports: [ThreadsModule, RunRecordsModule, EventsModule, CredentialsModule, TelemetryModule],
  controllers: [StreamController],
  providers: [RunStreamService, StreamResponder, StreamEnding],
  exports: [RunStreamService, StreamResponder],
})
export class StreamingModule {}
