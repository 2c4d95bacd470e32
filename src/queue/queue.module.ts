import { Module } from '@nestjs/common';
import { QueueFactory } from './queue.factory.js';
import { QueueProbe } from './queue-probe.service.js';

@Module({ providers: [QueueFactory, QueueProbe], exports: [QueueFactory, QueueProbe] })
export class QueueModule {}
