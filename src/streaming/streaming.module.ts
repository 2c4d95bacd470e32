import { Module } from '@nestjs/common';
import { ApiKeysModule } from '../api-keys/api-keys.module.js';
import { EventsModule } from '../events/events.module.js';
import { ThreadsModule } from '../threads/threads.module.js';
import { LostStreamService } from './lost-stream.service.js';
import { RunStreamService } from './run-stream.service.js';
import { StreamController } from './stream.controller.js';
import { StreamResponder } from './stream-responder.service.js';

@Module({
  imports: [ThreadsModule, EventsModule, ApiKeysModule],
  controllers: [StreamController],
  providers: [RunStreamService, StreamResponder, LostStreamService],
})
export class StreamingModule {}
